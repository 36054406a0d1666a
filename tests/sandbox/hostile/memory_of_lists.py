# Takes memory with a list that grows without end. The fuse: 4 GiB.
# ends: memory
# limits: memory=67108864
import json
import sys

about = json.load(sys.stdin)
kept = []
while len(kept) < 1 << 22:
    kept.append([0] * 128)
print("LOOT")
