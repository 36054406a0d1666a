# Stops itself by a signal: a stopped process uses no time and never ends.
# ends: wall
# limits: wall=0.3
import json
import os
import signal
import sys

about = json.load(sys.stdin)
os.kill(os.getpid(), signal.SIGSTOP)
signal.pause()
