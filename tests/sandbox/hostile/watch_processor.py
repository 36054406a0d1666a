# Watches what others do with the processor's counters.
# ends: forbidden, perf_event_open
import ctypes
import json
import os
import struct
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
asked = struct.pack("IIQ", 1, 128, 0) + bytes(112)
if libc.syscall({"x86_64": 298, "aarch64": 241}[os.uname().machine], asked, 0, -1, -1, 0) < 0:
    raise OSError(ctypes.get_errno(), "perf_event_open")
print("LOOT")
