# Writes errors without end.
# ends: output
import json
import os
import sys

about = json.load(sys.stdin)
while True:
    os.write(2, b"error\n" * 1000)
