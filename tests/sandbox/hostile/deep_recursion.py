# Recurses past the stack, with Python's own limit lifted.
# ends: crashed|memory|raised
import json
import sys

about = json.load(sys.stdin)
sys.setrecursionlimit(1 << 30)


class Deep:
    def __repr__(self):
        return repr(self)


print(repr(Deep()))
