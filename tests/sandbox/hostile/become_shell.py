# Replaces itself by a shell.
# ends: forbidden, execve
import json
import os
import sys

about = json.load(sys.stdin)
os.execv("/bin/sh", ["/bin/sh", "-c", "echo LOOT"])
