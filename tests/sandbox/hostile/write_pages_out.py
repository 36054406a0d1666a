# Has its memory written to the machine's disk, over and over.
# ends: forbidden, madvise
import json
import mmap
import sys

about = json.load(sys.stdin)
page = mmap.mmap(-1, 1 << 20)
page.write(b"x" * (1 << 20))
page.madvise(21)  # MADV_PAGEOUT
print("LOOT")
