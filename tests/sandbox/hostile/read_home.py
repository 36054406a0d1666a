# Looks for keys, history and settings in the user's home.
# ends: raised, nothing of a home
import json
import os
import sys

about = json.load(sys.stdin)
for name in (
    ".ssh",
    ".bashrc",
    ".profile",
    ".bash_history",
    ".gitconfig",
    ".netrc",
    ".config",
    ".cache",
    ".local",
    ".aws",
):
    path = os.path.join(about["home"], name)
    if os.path.lexists(path):
        print("LOOT", path)
raise RuntimeError("nothing of a home")
