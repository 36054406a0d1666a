# Cuts shared memory down to one page: no address is left of the others, and they stay. The fuse: 4 GiB.
# ends: raised, Cannot allocate memory
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
size = 64 << 20
for _ in range(64):
    place = libc.mmap(None, ctypes.c_size_t(size), 3, 0x21, -1, 0)
    if place == 2**64 - 1:
        raise OSError(ctypes.get_errno(), "Cannot allocate memory")
    ctypes.memset(place, 1, size)
    libc.munmap(ctypes.c_void_p(place + 4096), ctypes.c_size_t(size - 4096))
print("LOOT")
