# Gives back a set of numbers that all have one hash, in the form that the sandbox reads: to build it would take hours.
# ends: output|done|left|raised
import json
import os
import sys

about = json.load(sys.stdin)
numbers = [["i", hex(n * ((1 << 61) - 1))] for n in range(60_000)]
said = json.dumps({"end": "value", "value": ["s", *numbers]}).encode()
for number in (3, 4, 5):
    try:
        while said:
            said = said[os.write(number, said) :]
    except OSError:
        pass
os._exit(0)
