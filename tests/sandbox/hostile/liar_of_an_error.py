# Raises an exception that hangs, lies and raises again when somebody prints it, with hooks of its own.
# ends: raised|left|cpu
# limits: cpu=0.15
import json
import sys

about = json.load(sys.stdin)


class Liar(Exception):
    def __str__(self):
        while True:
            pass

    __repr__ = __str__


sys.excepthook = lambda *how: print("all tests passed")
sys.stderr = None
raise Liar
