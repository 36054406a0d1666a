# Swaps the root for another.
# ends: forbidden, pivot_root
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall({"x86_64": 155, "aarch64": 41}[os.uname().machine], b".", b".") < 0:
    raise OSError(ctypes.get_errno(), "pivot_root")
print("LOOT")
