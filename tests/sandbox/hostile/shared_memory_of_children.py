# Takes memory that its children share, of which each is told to have next to nothing of its own.
# ends: raised|memory
# limits: processes=8
import json
import mmap
import os
import sys
import time

about = json.load(sys.stdin)
for _ in range(6):
    if os.fork() == 0:
        kept = mmap.mmap(-1, 200 << 20)
        for at in range(0, 200 << 20, mmap.PAGESIZE):
            kept[at] = 1
        time.sleep(20)
        os._exit(0)
assert not any([os.wait()[1] for _ in range(6)])
print("LOOT")
