# Sleeps for ever.
# ends: wall
# limits: wall=0.3
import json
import sys
import time

about = json.load(sys.stdin)
time.sleep(1e6)
