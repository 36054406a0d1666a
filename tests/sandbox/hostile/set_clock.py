# Sets the clock of the machine, to what it is.
# ends: forbidden, clock_settime
import json
import sys
import time

about = json.load(sys.stdin)
time.clock_settime(time.CLOCK_REALTIME, time.time())
print("LOOT")
