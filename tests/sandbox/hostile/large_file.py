# Writes one file that grows without end. The fuse: 2 GiB.
# ends: disk
import json
import sys

about = json.load(sys.stdin)
with open("large", "wb") as file:
    for _ in range(2048):
        file.write(bytes(1 << 20))
print("LOOT")
