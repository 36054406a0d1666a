# Kills every process that it may.
# ends: forbidden, kill
import json
import os
import signal
import sys

about = json.load(sys.stdin)
try:
    os.kill(about["parent"], 0)
    print("LOOT the parent can be killed")
except OSError:
    os.kill(-1, signal.SIGKILL)
