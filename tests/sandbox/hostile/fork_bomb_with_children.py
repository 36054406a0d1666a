# Forks without end where a few children are allowed. The fuse: no more than 300 each.
# ends: processes
# limits: processes=8
import json
import os
import sys

about = json.load(sys.stdin)
for _ in range(300):
    os.fork()
print("LOOT", os.getpid())
