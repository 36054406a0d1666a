# Traces the process that runs the sandbox.
# ends: forbidden, ptrace
import ctypes
import json
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
if libc.ptrace(0x4206, about["parent"], 0, 0) < 0:  # PTRACE_SEIZE
    raise OSError(ctypes.get_errno(), "ptrace")
print("LOOT")
