# Watches which programs the user starts and which files they open.
# ends: forbidden, inotify_init
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
watch = libc.inotify_init()
if watch < 0 or libc.inotify_add_watch(watch, b"/usr/bin", 0x20 | 1) < 0:
    raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
print("LOOT")
