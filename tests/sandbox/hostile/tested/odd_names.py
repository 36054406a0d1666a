# Gives the names of its functions in every form that they should not have.
# ends: raised|left
import json
import os

names = {
    "functions": [None, {"square": 1}, 7, ["square"]],
    "classes": {"square": []},
    "modules": ["os", 1, None, "os.path"],
}
text = json.dumps(names).encode()
os.write(5, len(text).to_bytes(4, "little") + text)


def square(x):
    return x + 1
