# Runs a program that lies in memory alone.
# ends: forbidden, execve
import json
import os
import sys

about = json.load(sys.stdin)
try:
    file = os.memfd_create("program", 0)
except OSError:
    file = os.open("program", os.O_RDWR | os.O_CREAT, 0o700)
os.write(file, b"#!/bin/sh\necho LOOT\n")
os.execve(file, ["program"], {})
