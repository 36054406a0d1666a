# Makes the read-only root writable.
# ends: forbidden, mount
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.mount(None, b"/", None, 32, None) < 0:  # MS_REMOUNT
    raise OSError(ctypes.get_errno(), "mount")
print("LOOT")
