# Overflows the C stack with data that is nested a hundred thousand deep.
# ends: cpu|crashed|memory|raised
# limits: cpu=0.15
import json
import sys

about = json.load(sys.stdin)
sys.setrecursionlimit(1 << 30)
nested = []
for _ in range(200_000):
    nested = [nested]
print(repr(nested))
