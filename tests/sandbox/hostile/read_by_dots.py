# Climbs out of its folder with dots.
# ends: raised, FileNotFoundError
import json
import sys

about = json.load(sys.stdin)
print("LOOT", open("../" * 40 + about["secret_file"].lstrip("/")).read())
