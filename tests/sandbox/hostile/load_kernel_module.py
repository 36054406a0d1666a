# Loads a module into the kernel, and another kernel. What it hands over is empty, so that nothing comes of it anywhere.
# ends: forbidden, init_module
import ctypes
import json
import os
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
x86 = os.uname().machine == "x86_64"
for number in (175, 313, 246) if x86 else (105, 273, 104):
    if libc.syscall(number, -1, 0, b"", 0) >= 0 or ctypes.get_errno() not in (1, 38):
        print("LOOT", number)
raise OSError(ctypes.get_errno(), "init_module")
