# Asks for real-time priority, with which one program would stop the machine.
# ends: raised|forbidden
import json
import os
import sys

about = json.load(sys.stdin)
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print("LOOT")
