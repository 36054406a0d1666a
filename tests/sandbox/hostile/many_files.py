# Writes files of a size that is allowed until the disk is full. The fuse: 2 GiB.
# ends: disk
import json
import sys

about = json.load(sys.stdin)
for number in range(2048):
    with open(f"file-{number}", "wb") as file:
        file.write(bytes(1 << 20))
print("LOOT")
