# Makes a file of a terabyte that holds nothing.
# ends: disk
import json
import os
import sys

about = json.load(sys.stdin)
os.truncate(os.open("sparse", os.O_RDWR | os.O_CREAT), 1 << 40)
print("LOOT")
