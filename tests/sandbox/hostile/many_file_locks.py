# Locks every other byte of files: each lock costs the kernel memory, and nothing limits them. The fuse: 60,000 locks.
# ends: forbidden, fcntl
# limits: processes=2
import fcntl
import json
import sys

about = json.load(sys.stdin)
for number in range(60):
    with open(f"file{number}", "wb") as file:
        for at in range(1000):
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 2 * at)
        kept = globals().setdefault("kept", [])
        kept.append(open(f"file{number}", "rb"))
print("LOOT")
