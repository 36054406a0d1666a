# Takes huge pages, of which the machine has one pool for everybody.
# ends: forbidden, mmap
import json
import mmap
import sys

about = json.load(sys.stdin)
mmap.mmap(-1, 2 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40000)
print("LOOT")
