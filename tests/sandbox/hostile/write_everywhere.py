# Tries to make a file in every folder there is but its own.
# ends: raised, every other folder refused
import json
import os
import sys

about = json.load(sys.stdin)
own = os.getcwd()
for folder, below, _ in os.walk("/"):
    below[:] = below[:12]
    if folder == own or folder.startswith(f"{own}/") or folder in ("/dev/shm", "/tmp"):
        continue
    path = os.path.join(folder, "guerdon-test-file")
    try:
        open(path, "x").close()
        os.unlink(path)
        print("LOOT", path)
    except OSError:
        pass
raise RuntimeError("every other folder refused")
