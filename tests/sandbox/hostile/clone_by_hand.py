# Forks by the newest system call for it, which filters on arguments cannot look into.
# ends: raised, clone3
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
arguments = ctypes.create_string_buffer(88)
ctypes.memmove(ctypes.addressof(arguments) + 32, (17).to_bytes(8, "little"), 8)  # exit_signal = SIGCHLD
got = libc.syscall(435, arguments, 88)
if got == 0:
    os._exit(0)
if got < 0:
    raise OSError(ctypes.get_errno(), "clone3")
print("LOOT", got)
