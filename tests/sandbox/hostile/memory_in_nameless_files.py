# Fills files that lie in memory and have no name, whose pages are charged to nobody's address space. The fuse: 2 GiB.
# ends: disk|forbidden|raised
import json
import os
import sys

about = json.load(sys.stdin)
for _ in range(64):
    file = os.memfd_create("kept")
    for _ in range(32):
        os.write(file, bytes(1 << 20))
print("LOOT")
