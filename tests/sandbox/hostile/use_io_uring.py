# Sets up an io_uring, which would open files and sockets without a system call.
# ends: forbidden, io_uring_setup
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(425, 8, ctypes.create_string_buffer(120)) < 0:
    raise OSError(ctypes.get_errno(), "io_uring_setup")
print("LOOT")
