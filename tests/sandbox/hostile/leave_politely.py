# Raises SystemExit in the middle, with a code that says all is well.
# ends: left
import json
import sys

about = json.load(sys.stdin)
if about:
    sys.exit(0)
print("LOOT through")
