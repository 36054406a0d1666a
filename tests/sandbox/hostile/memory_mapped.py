# Maps memory past Python's own allocator, and touches it. The fuse: 4 GiB.
# ends: raised, Cannot allocate memory
import json
import mmap
import sys

about = json.load(sys.stdin)
kept = []
for _ in range(64):
    kept.append(mmap.mmap(-1, 64 << 20))
    for place in range(0, 64 << 20, 4096):
        kept[-1][place] = 1
print("LOOT")
