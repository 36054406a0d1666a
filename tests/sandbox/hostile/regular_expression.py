# Matches a regular expression that takes exponential time.
# ends: cpu
# limits: cpu=0.15
import json
import re
import sys

about = json.load(sys.stdin)
re.match(r"(a+)+$", "a" * 64 + "b")
