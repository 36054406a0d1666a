# Enters the namespaces of any process whose descriptor or entry in /proc is visible.
# ends: forbidden, setns
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
for number in (*range(3, 256), libc.syscall(434, 1, 0)):
    if libc.setns(number, 0) == 0:
        print("LOOT", number)
raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
