# Reads the canary in the parent's memory through /proc.
# ends: raised, FileNotFoundError
import json
import sys

about = json.load(sys.stdin)
with open(f"/proc/{about['parent']}/mem", "rb", 0) as memory:
    memory.seek(about["address"])
    print("LOOT", memory.read(about["length"]))
