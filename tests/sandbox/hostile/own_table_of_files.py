# Gives threads tables of open files of their own, 128 each, all full of sockets that nobody reads.
# ends: forbidden, close_range
import ctypes
import json
import os
import sys
import threading

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
failed = []


def take():
    if libc.syscall(436, 100, 100, 2):  # close_range with CLOSE_RANGE_UNSHARE
        failed.append(ctypes.get_errno())


for _ in range(8):
    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
if failed:
    raise OSError(failed[0], os.strerror(failed[0]))
print("LOOT")
