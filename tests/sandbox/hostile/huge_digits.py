# Writes out a number of ten million digits, with Python's own limit lifted.
# ends: cpu
# limits: cpu=0.15
import json
import sys

about = json.load(sys.stdin)
sys.set_int_max_str_digits(0)
print(len(str(1 << 40_000_000)))
