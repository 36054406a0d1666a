# Takes memory, and goes on when it is refused: a program that catches the error may end as it likes, with no more than it had.
# ends: done
# limits: memory=67108864
import json
import sys

about = json.load(sys.stdin)
kept = []
try:
    while len(kept) < 4096:
        kept.append(bytearray(1 << 20))
    print("LOOT")
except MemoryError:
    kept.clear()
print("caught")
