# Takes memory in a process whose name looks like a size in /proc, so that measuring it fails.
# ends: memory
import ctypes
import json
import sys
import time

about = json.load(sys.stdin)
for name in (b"x kB", b"\x0b9 kB", b" kB", b"VmPTE: -9 kB"):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)  # PR_SET_NAME
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass
kept = bytearray(b"x") * (300 << 20)
print("LOOT")
