# Overflows the compiler with source that is nested too deep.
# ends: crashed|memory|raised
import json
import sys

about = json.load(sys.stdin)
sys.setrecursionlimit(1 << 30)
eval("-" * 500_000 + "1")
