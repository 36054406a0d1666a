# Scatters pages over its addresses, so that each takes two more to be found. The fuse: 60,000.
# ends: memory, page tables
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
for number in range(1, 60_000):
    place = libc.mmap(ctypes.c_void_p(0x100000000 + (number << 30)), ctypes.c_size_t(4096), 3, 0x22, -1, 0)
    ctypes.memset(place, 1, 1)
libc.sleep(2)
print("LOOT")
