# Forks without end, and every child as well. The fuse: no more than 300 each.
# ends: processes
import json
import os
import sys

about = json.load(sys.stdin)
for _ in range(300):
    os.fork()
print("LOOT", os.getpid())
