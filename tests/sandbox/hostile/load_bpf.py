# Loads a program into the kernel.
# ends: forbidden, bpf
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall({"x86_64": 321, "aarch64": 280}[os.uname().machine], 0, bytes(72), 72) < 0:
    raise OSError(ctypes.get_errno(), "bpf")
print("LOOT")
