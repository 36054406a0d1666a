# Mounts with the newer system calls: fsopen, open_tree, move_mount, mount_setattr.
# ends: forbidden, open_tree
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
for number in (428, 429, 430, 431, 432, 433, 442):
    if libc.syscall(number, -100, b"/", 0, 0, 0) >= 0:
        print("LOOT", number)
raise OSError(ctypes.get_errno(), "mount")
