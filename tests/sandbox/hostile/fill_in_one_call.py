# Has the kernel fill a mapping in one call, during which no signal stops it. The fuse: 6 of 200 MiB.
# ends: forbidden|memory
# limits: processes=8
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
children = 0
while children < 5 and os.fork():
    children += 1
if libc.mmap(None, ctypes.c_size_t(200 << 20), 3, 0x8022, -1, 0) == 2**64 - 1:
    raise OSError(ctypes.get_errno(), "mmap")
print("LOOT")
