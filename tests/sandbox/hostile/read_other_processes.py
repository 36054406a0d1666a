# Reads the command lines and environments of all processes.
# ends: raised, FileNotFoundError
import json
import os
import sys

about = json.load(sys.stdin)
for number in filter(str.isdigit, os.listdir("/proc")):
    for name in ("cmdline", "environ", "maps"):
        try:
            print(number, open(f"/proc/{number}/{name}").read())
        except OSError:
            pass
open(f"/proc/{about['parent']}/environ").read()
