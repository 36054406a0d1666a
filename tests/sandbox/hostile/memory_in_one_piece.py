# Takes 64 GiB at once.
# ends: memory
import json
import sys

about = json.load(sys.stdin)
bytearray(64 << 30)
print("LOOT")
