# Computes without end inside one call of a C function, in which no handler of Python's runs.
# ends: cpu
# limits: cpu=0.15
import hashlib
import json
import sys

about = json.load(sys.stdin)
hashlib.pbkdf2_hmac("sha256", b"", b"", (1 << 31) - 1)
