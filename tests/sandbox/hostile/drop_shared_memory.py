# Drops the pages of shared memory, in several children: no process has them any more, and they stay. The fuse: 1.4 GiB.
# ends: raised|memory
# limits: processes=8
import json
import mmap
import os
import sys
import time

about = json.load(sys.stdin)
children = 0
while children < 7 and os.fork():
    children += 1
shared = mmap.mmap(-1, 200 << 20)
for at in range(0, len(shared), 4 << 20):
    shared[at : at + (4 << 20)] = b"x" * (4 << 20)
    shared.madvise(mmap.MADV_DONTNEED, at, 4 << 20)
time.sleep(2)
if children < 7:
    os._exit(0)
assert not any([os.wait()[1] for _ in range(7)])
print("LOOT")
