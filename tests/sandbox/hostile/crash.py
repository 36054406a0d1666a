# Writes to an address that is not there.
# ends: crashed, SIGSEGV
import ctypes
import json
import sys

about = json.load(sys.stdin)
ctypes.memset(1, 0, 8)
