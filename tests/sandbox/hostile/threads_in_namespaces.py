# Starts a thread in namespaces of its own, where only processes are looked at.
# ends: processes|forbidden|raised
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
for space in (0x20000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000):
    if libc.syscall(number, 0x10000 | 0x800 | 0x100 | space, 0, 0, 0, 0) >= 0:
        print("LOOT", hex(space))
raise OSError(ctypes.get_errno(), "clone")
