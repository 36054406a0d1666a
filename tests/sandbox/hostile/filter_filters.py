# Installs a filter of system calls of its own that hears all calls first and answers for them.
# ends: forbidden, seccomp
import ctypes
import json
import os
import struct
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000), 8)
program = struct.pack("HxxxxxxP", 1, ctypes.addressof(allow))
got = libc.syscall({"x86_64": 317, "aarch64": 277}[os.uname().machine], 1, 8, program)  # FLAG_NEW_LISTENER
if got < 0:
    raise OSError(ctypes.get_errno(), "seccomp")
print("LOOT", got)
