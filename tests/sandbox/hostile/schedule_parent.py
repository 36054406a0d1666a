# Slows the process that runs the sandbox down.
# ends: raised|forbidden
import json
import os
import sys

about = json.load(sys.stdin)
os.setpriority(os.PRIO_PROCESS, about["parent"], os.getpriority(os.PRIO_PROCESS, about["parent"]))
print("LOOT")
