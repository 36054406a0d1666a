# The same in several children, each of which has few.
# ends: forbidden, socketpair
# limits: processes=6
import json
import os
import socket
import sys
import time

about = json.load(sys.stdin)
for _ in range(4):
    if os.fork() == 0:
        kept = []
        try:
            for _ in range(30):
                kept += socket.socketpair()
        except OSError:
            os._exit(1)
        time.sleep(3)
        os._exit(0)
codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range(4)]
if any(codes):
    raise RuntimeError("children were refused")
print("LOOT")
