# Reads what the kernel tells about the machine in /sys.
# ends: raised, FileNotFoundError
import json
import os
import sys

about = json.load(sys.stdin)
print("LOOT", os.listdir("/sys/class/net"))
