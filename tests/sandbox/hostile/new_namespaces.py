# Clones itself into new namespaces, in which it would be root.
# ends: processes
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
got = libc.syscall(number, 0x10000000 | 17, 0, 0, 0, 0)  # CLONE_NEWUSER | SIGCHLD
if got == 0:
    os._exit(0)
if got < 0:
    raise OSError(ctypes.get_errno(), "clone")
print("LOOT", got)
