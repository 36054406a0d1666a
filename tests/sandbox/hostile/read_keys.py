# Reads the keys that the kernel keeps for the user.
# ends: forbidden, keyctl
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall({"x86_64": 250, "aarch64": 219}[os.uname().machine], 0, -3, 0) < 0:
    raise OSError(ctypes.get_errno(), "keyctl")
print("LOOT")
