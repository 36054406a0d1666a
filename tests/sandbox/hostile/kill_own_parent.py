# Kills its parent process, and the first process of its namespace.
# ends: forbidden, kill
import json
import os
import signal
import sys

about = json.load(sys.stdin)
for number in {os.getppid(), 1} - {0, os.getpid()}:
    try:
        os.kill(number, signal.SIGKILL)
        os.kill(number, 0)
    except OSError:
        pass
raise RuntimeError("nobody to kill")
