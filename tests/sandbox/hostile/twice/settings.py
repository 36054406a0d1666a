# Leaves its folder, mask, priority, environment and time zone changed.
# ends: done
import json
import os
import signal
import sys
import time

about = json.load(sys.stdin)
now = os.umask(0o123), os.environ.get("LEFT"), time.tzname, signal.getsignal(signal.SIGUSR1), os.getpriority(0, 0)
if now[0] == 0o123 or now[1] or "LEFT" in now[2] or now[3] != signal.SIG_DFL or now[4] == 7:
    print("LOOT of the program before", now)
os.environ["LEFT"] = "left"
os.environ["TZ"] = "LEFT-3"
time.tzset()
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
try:
    os.nice(7)
except OSError:
    pass
