# Prints lines without end.
# ends: output
import json
import sys

about = json.load(sys.stdin)
while True:
    print("all tests passed")
