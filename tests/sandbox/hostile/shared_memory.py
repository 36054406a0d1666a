# Takes shared memory of System V, which outlives its maker.
# ends: forbidden, shmget
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.shmget(0, 1 << 30, 0o1600) < 0:
    raise OSError(ctypes.get_errno(), "shmget")
print("LOOT")
