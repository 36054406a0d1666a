# Writes into a file of the user's, and renames one over it.
# ends: raised, FileNotFoundError
import json
import os
import sys

about = json.load(sys.stdin)
open("mine", "w").write("changed")
try:
    os.rename("mine", about["secret_file"])
except OSError:
    os.truncate(about["secret_file"], 0)
print("LOOT changed")
