# Leaves something in the interpreter: a module, a builtin, a changed constant.
# ends: done
import builtins
import json
import math
import sys

about = json.load(sys.stdin)
if "left" in sys.modules or hasattr(builtins, "left") or math.pi != 3.141592653589793:
    print("LOOT of the program before")
sys.modules["left"] = sys
builtins.left = about
math.pi = 3
