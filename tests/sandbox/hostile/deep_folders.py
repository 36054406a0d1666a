# Makes folders inside each other without end. The fuse: 300,000.
# ends: disk
# limits: disk=1048576
import json
import os
import sys

about = json.load(sys.stdin)
for _ in range(300_000):
    os.mkdir("deeper")
    os.chdir("deeper")
print("LOOT")
