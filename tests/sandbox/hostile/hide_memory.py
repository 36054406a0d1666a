# Closes its children to those who would read how much memory they share.
# ends: memory|forbidden
# limits: processes=8
import ctypes
import json
import mmap
import os
import sys
import time

about = json.load(sys.stdin)
for _ in range(6):
    if os.fork() == 0:
        if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0):  # PR_SET_DUMPABLE
            os._exit(1)
        kept = mmap.mmap(-1, 200 << 20)
        for at in range(0, 200 << 20, mmap.PAGESIZE):
            kept[at] = 1
        time.sleep(60)
        os._exit(0)
if any(os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(6)):
    raise RuntimeError("children were refused")
print("LOOT")
