# Enters a user namespace of its own, in which it would have every capability.
# ends: forbidden, unshare
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000) < 0:  # CLONE_NEWUSER
    raise OSError(ctypes.get_errno(), "unshare")
print("LOOT")
