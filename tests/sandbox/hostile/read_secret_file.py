# Reads a secret file of the user's by its path.
# ends: raised, FileNotFoundError
import json
import sys

about = json.load(sys.stdin)
print("LOOT", open(about["secret_file"]).read())
