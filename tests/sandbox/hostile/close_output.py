# Closes its output, and everything else that is open, before it ends.
# ends: left|done|crashed
import json
import os
import sys

about = json.load(sys.stdin)
for number in range(1024):
    try:
        os.close(number)
    except OSError:
        pass
