# Asks which pages of the system's files are in memory, and so what others have run.
# ends: forbidden, mincore
import ctypes
import json
import mmap
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
page = mmap.mmap(-1, mmap.PAGESIZE)
kept = ctypes.create_string_buffer(1)
if libc.mincore(ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(page))), mmap.PAGESIZE, kept):
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
print("LOOT")
