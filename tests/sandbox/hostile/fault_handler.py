# Handles page faults itself, with which many attacks on the kernel win their races.
# ends: forbidden, userfaultfd
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall({"x86_64": 323, "aarch64": 282}[os.uname().machine], 1) < 0:
    raise OSError(ctypes.get_errno(), "userfaultfd")
print("LOOT")
