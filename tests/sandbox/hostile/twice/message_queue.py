# Leaves a message queue of POSIX.
# ends: forbidden, mq_open
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 240, "aarch64": 180}[os.uname().machine]
if libc.syscall(number, b"guerdon-left", os.O_RDWR, 0, 0) >= 0:
    print("LOOT of the program before")
if libc.syscall(number, b"guerdon-left", os.O_RDWR | os.O_CREAT, 0o600, 0) < 0:
    raise OSError(ctypes.get_errno(), "mq_open")
