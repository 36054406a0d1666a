# Makes empty files without end: each costs the kernel memory and the disk nothing. The fuse: 300,000.
# ends: disk
import json
import os
import sys

about = json.load(sys.stdin)
for number in range(300_000):
    os.close(os.open(f"{number}", os.O_WRONLY | os.O_CREAT))
print("LOOT")
