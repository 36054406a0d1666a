# Answers that it has changed arguments that are not there, or cannot be changed.
# ends: raised
import json
import os


def square(x):
    text = json.dumps({"value": 9, "changed": {"-1": ["l", 1], "0": 9, "x": None, "99999999999": 1}}).encode()
    os.write(5, len(text).to_bytes(4, "little") + text)
    return 9
