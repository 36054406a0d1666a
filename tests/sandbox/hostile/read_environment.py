# Prints its environment, as the interpreter and as the C library know it, and as the kernel does.
# ends: raised, FileNotFoundError
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
print(dict(os.environ))
environ = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
place = 0
while environ and environ[place]:
    print(environ[place])
    place += 1
print(open("/proc/self/environ").read())
