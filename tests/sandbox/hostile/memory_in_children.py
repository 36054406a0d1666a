# Takes memory in several children, each of which stays below the limit. The fuse: 8 of 200 MiB.
# ends: memory
# limits: processes=8
import json
import os
import sys
import time

about = json.load(sys.stdin)
for _ in range(6):
    if os.fork() == 0:
        kept = bytearray(b"x") * (200 << 20)
        time.sleep(60)
        os._exit(0)
time.sleep(20)
print("LOOT")
