# Has the kernel look for equal pages in all processes, which costs everybody's time and tells what others hold.
# ends: forbidden, madvise
import json
import mmap
import sys

about = json.load(sys.stdin)
mmap.mmap(-1, 1 << 20).madvise(12)  # MADV_MERGEABLE
print("LOOT")
