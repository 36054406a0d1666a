# Takes every capability there is.
# ends: forbidden, capset
import ctypes
import json
import os
import struct
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
head = struct.pack("Ii", 0x20080522, 0)
number = {"x86_64": (126, 125), "aarch64": (91, 90)}[os.uname().machine]
all_of_them = struct.pack("6I", *([0xFFFFFFFF] * 6))
if libc.syscall(number[0], head, all_of_them) == 0:
    print("LOOT")
has = ctypes.create_string_buffer(24)
libc.syscall(number[1], head, has)
if any(has.raw):
    print("LOOT", has.raw)
raise RuntimeError("no capability")
