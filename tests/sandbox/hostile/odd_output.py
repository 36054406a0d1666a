# Prints binary output: invalid UTF-8, NULs, terminal escape sequences.
# ends: done
import json
import os
import sys

about = json.load(sys.stdin)
os.write(1, bytes(range(256)) + b"\x1b[2J\x1b]0;owned\x07\xed\xa0\x80" + b"\0" * 64)
