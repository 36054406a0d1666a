# Searches every folder that it can list for the user's files by their name.
# ends: raised, searched
import json
import os
import sys

about = json.load(sys.stdin)
looked = 0
for folder, _, names in os.walk("/"):
    looked += 1
    if "lib/python" in folder and "site-packages" not in folder:
        continue
    for name in names:
        if name in about["names"]:
            print("LOOT", os.path.join(folder, name))
raise RuntimeError(f"searched {looked} folders")
