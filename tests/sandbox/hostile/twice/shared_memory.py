# Leaves a segment of shared memory, a semaphore and a queue of System V.
# ends: forbidden, shmget
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
trouble = 0
for make in ((libc.shmget, 77123, 4096), (libc.semget, 77123, 1), (libc.msgget, 77123)):
    if make[0](*make[1:], 0o600) >= 0:
        print("LOOT of the program before")
    if make[0](*make[1:], 0o1600) < 0:
        trouble = ctypes.get_errno()
if trouble:
    raise OSError(trouble, "System V")
