# Starts processes that cannot start, 400 times, so that the count of processes goes wrong. Then more than it may. The fuse: 12.
# ends: processes
# limits: processes=4
import ctypes
import json
import os
import sys
import time

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
for _ in range(400):
    libc.syscall(number, 0x800 | 17, 0, 0, 0, 0)  # CLONE_SIGHAND without CLONE_VM: never
for _ in range(12):
    if os.fork() == 0:
        time.sleep(20)
        os._exit(0)
print("LOOT")
