# Prints one line that never ends.
# ends: output
import json
import sys

about = json.load(sys.stdin)
while True:
    sys.stdout.write("x" * 10_000)
