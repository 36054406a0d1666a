# Makes system calls by numbers of another kind: those of x32, and such as no kernel has yet.
# ends: raised|crashed|forbidden
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
x32 = 0x40000000
for number in (x32 + 41, x32 + 57, 0x7FFFFFF0, 5000):
    if libc.syscall(number, 2, 1, 0) >= 0:
        print("LOOT", number)
raise RuntimeError(os.strerror(ctypes.get_errno()))
