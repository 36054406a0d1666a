# Computes in many threads at once: together they must not have more than one may.
# ends: cpu
# limits: cpu=0.15
import hashlib
import json
import sys
import threading

about = json.load(sys.stdin)
for _ in range(8):
    threading.Thread(target=hashlib.pbkdf2_hmac, args=("sha256", b"", b"", (1 << 31) - 1)).start()
