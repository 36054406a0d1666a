# Makes refused calls without end, to keep the process that answers them busy.
# ends: forbidden
import json
import os
import sys

about = json.load(sys.stdin)
while True:
    try:
        os.chroot("/")
    except OSError:
        pass
