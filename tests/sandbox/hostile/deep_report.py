# Reports about itself in a form that is nested too deep to be read.
# ends: left|raised
import json
import os
import sys

about = json.load(sys.stdin)
os.write(3, b'{"end": "value", "value": ' + b"[" * 50_000)
os._exit(0)
