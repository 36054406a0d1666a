# Leaves files in every folder that takes one, and looks for those of the program before it.
# ends: done
import json
import os
import sys

about = json.load(sys.stdin)
for folder, _, names in os.walk("/"):
    if "lib/python" in folder:
        continue
    for name in names:
        if name.startswith("left-by-"):
            print("LOOT", folder, name)
    try:
        open(os.path.join(folder, f"left-by-{about['round']}"), "w").close()
    except OSError:
        pass
