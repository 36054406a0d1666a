# Takes memory in children whose names are not text, so that a program that reads their names fails.
# ends: memory
# limits: processes=8
import ctypes
import json
import os
import sys
import time

about = json.load(sys.stdin)
for _ in range(6):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b"\xff) \xfe\n", 0, 0, 0)  # PR_SET_NAME
        kept = bytearray(b"x") * (200 << 20)
        time.sleep(60)
        os._exit(0)
time.sleep(20)
print("LOOT")
