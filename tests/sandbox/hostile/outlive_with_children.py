# Leaves a daemon behind where children are allowed: the box ends, and it must with it.
# ends: done
# limits: processes=8
import ctypes
import json
import os
import signal
import sys
import time

about = json.load(sys.stdin)
if os.fork() == 0:
    os.setsid()
    ctypes.CDLL(None).prctl(1, 0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    if os.fork() == 0:
        time.sleep(600)
    time.sleep(600)
