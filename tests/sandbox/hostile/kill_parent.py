# Kills the process that runs the sandbox.
# ends: forbidden, kill
import json
import os
import signal
import sys

about = json.load(sys.stdin)
os.kill(about["parent"], 0)  # whoever can be asked whether it is there can be killed: that is proof enough
print("LOOT", signal.SIGKILL)
