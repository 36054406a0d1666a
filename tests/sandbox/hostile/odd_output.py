# Prints what is no text: bytes that are no UTF-8, NULs, the escapes that steer a terminal.
# ends: done
import json
import os
import sys

about = json.load(sys.stdin)
os.write(1, bytes(range(256)) + b"\x1b[2J\x1b]0;owned\x07\xed\xa0\x80" + b"\0" * 64)
