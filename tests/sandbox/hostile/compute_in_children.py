# Computes in one short-lived child after another: their time must count together.
# ends: cpu
# limits: cpu=0.15 processes=8
import json
import os
import sys
import time

about = json.load(sys.stdin)
while True:
    if os.fork() == 0:
        while time.process_time() < 0.05:
            pass
        os._exit(0)
    os.wait()
