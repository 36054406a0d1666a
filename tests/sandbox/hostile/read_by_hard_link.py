# Makes a hard link to the user's file.
# ends: raised, FileNotFoundError
import json
import os
import sys

about = json.load(sys.stdin)
os.link(about["secret_file"], "mine")
print("LOOT", open("mine").read())
