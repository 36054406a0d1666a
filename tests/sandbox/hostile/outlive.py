# Leaves a daemon behind: two forks, a session of its own, no parent's death heard.
# ends: processes
# limits: processes=1
import ctypes
import json
import os
import sys
import time

about = json.load(sys.stdin)
ctypes.CDLL(None).prctl(1, 0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
    os._exit(0)
print("LOOT")
