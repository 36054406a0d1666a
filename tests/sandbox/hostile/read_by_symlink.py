# Reads the user's file through a symbolic link that it makes.
# ends: raised, FileNotFoundError
import json
import os
import sys

about = json.load(sys.stdin)
os.symlink(about["secret_file"], "mine")
print("LOOT", open("mine").read())
