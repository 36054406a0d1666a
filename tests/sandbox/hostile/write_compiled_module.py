# Puts a compiled module of its own into a __pycache__.
# ends: raised, Error
import json
import os
import sys

about = json.load(sys.stdin)
folder = os.path.join(os.path.dirname(os.__file__), "__pycache__")
os.makedirs(folder, exist_ok=True)
open(os.path.join(folder, "antigravity.forged.pyc"), "x").close()
print("LOOT", folder)
