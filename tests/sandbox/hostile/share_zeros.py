# Maps shared memory without saying so: that of the device of zeros, opened for writing. The fuse: 4 GiB.
# ends: raised, /dev/zero
import json
import mmap
import os
import sys

about = json.load(sys.stdin)
end = os.open("/dev/zero", os.O_RDWR)
kept = []
for _ in range(64):
    kept.append(mmap.mmap(end, 64 << 20))
    for place in range(0, 64 << 20, 4096):
        kept[-1][place] = 1
print("LOOT")
