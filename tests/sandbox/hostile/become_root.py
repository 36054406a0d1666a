# Becomes root, or anybody else.
# ends: forbidden, setuid
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
before = os.getresuid(), os.getresgid()
for how in (os.setuid, os.setgid, os.seteuid, os.setegid):
    for number in (0, 1000, 12345):
        try:
            how(number)
        except OSError:
            pass
if (os.getresuid(), os.getresgid()) != before or libc.setgroups(1, b"\0\0\0\0") == 0:
    print("LOOT", before, os.getresuid(), os.getresgid())
raise RuntimeError("nobody else")
