# Starts a thread by hand that does not share its open files, so that each has 128.
# ends: processes|forbidden
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
stack = ctypes.create_string_buffer(1 << 16)
top = ctypes.c_void_p((ctypes.addressof(stack) + (1 << 16)) & ~15)
pause = ctypes.cast(libc.pause, ctypes.c_void_p)
pid = libc.clone(pause, top, 0x100 | 0x800 | 0x10000, None)  # CLONE_VM, CLONE_SIGHAND, CLONE_THREAD
if pid < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
print("LOOT", pid)
