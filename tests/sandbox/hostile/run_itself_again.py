# Starts the interpreter anew with libraries and settings of its own choice.
# ends: forbidden, execve
import json
import os
import sys

about = json.load(sys.stdin)
with open("mine.py", "w") as file:
    file.write("print('LOOT')")
os.execve(sys.executable, [sys.executable, "mine.py"], {"LD_PRELOAD": "./mine.so", "PYTHONPATH": "."})
