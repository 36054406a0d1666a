# Reports about itself in words of the wrong kind: numbers without end, names that nobody knows, types that do not fit.
# ends: output|left|raised|done
import json
import os
import sys

about = json.load(sys.stdin)
os.write(3, b'{"end": "raised", "kind": ["cpu"], "error": {"a": NaN}, "value": 1' + b"0" * 100_000 + b"}")
os._exit(0)
