# Writes megabytes into every descriptor that is open but those it prints on.
# ends: output|left|done
import json
import os
import sys

about = json.load(sys.stdin)
for number in range(3, 64):
    try:
        for _ in range(64):
            os.write(number, bytes(1 << 20))
    except OSError:
        pass
os._exit(0)
