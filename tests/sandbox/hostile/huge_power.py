# Computes a power whose digits no memory holds.
# ends: cpu
# limits: cpu=0.15
import json
import sys

about = json.load(sys.stdin)
print(9**9**9)
