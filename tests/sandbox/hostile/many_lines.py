# Raises an exception whose text has other ends of lines in it, and the escapes that steer a terminal.
# ends: raised
import json
import sys

about = json.load(sys.stdin)
raise ValueError("one\rtwo\x0bthree\x85four\u2028five\x1b[2J\x1b]0;owned\x07")
