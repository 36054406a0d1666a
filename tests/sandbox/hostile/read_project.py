# Reads the code of the project that is being worked on: the tests may lie there.
# ends: raised, FileNotFoundError
import json
import os
import sys

about = json.load(sys.stdin)
print("LOOT", os.listdir(about["project"]))
