# Mounts a file system of its own over the one it sees.
# ends: forbidden, mount
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(b"tmpfs", os.getcwd().encode(), b"tmpfs", 0, None) < 0:
    raise OSError(ctypes.get_errno(), "mount")
print("LOOT")
