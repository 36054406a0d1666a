# Takes away what covers the user's files.
# ends: forbidden, umount2
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.umount2(b"/", 2) < 0:  # MNT_DETACH
    raise OSError(ctypes.get_errno(), "umount2")
print("LOOT")
