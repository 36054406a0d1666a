# Runs bytecode that no compiler makes.
# ends: crashed, SIGSEGV
import json
import sys

about = json.load(sys.stdin)


def function():
    return 0


exec(function.__code__.replace(co_code=bytes((100, 255, 144, 255, 83, 0)) * 2, co_consts=(), co_stacksize=0))
