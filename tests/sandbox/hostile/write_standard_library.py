# Opens a module of the standard library for writing: every program after it would import it.
# ends: raised, Error
import json
import os
import sys

about = json.load(sys.stdin)
try:
    os.chmod(os.__file__, 0o666)
    print("LOOT its rights are changed")
except OSError:
    pass
os.close(os.open(os.__file__, os.O_WRONLY | os.O_APPEND))
print("LOOT", os.__file__)
