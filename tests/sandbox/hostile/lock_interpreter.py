# Locks the interpreter's own file, for which every other process would wait that locks it too.
# ends: forbidden, flock
import fcntl
import json
import os
import sys

about = json.load(sys.stdin)
with open(os.__file__, "rb") as file:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
print("LOOT")
