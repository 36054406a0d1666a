# Looks for secrets that its own memory inherited: all objects, and the heap from its end downwards.
# ends: raised, nothing inherited
import ctypes
import gc
import json
import os
import re
import sys

about = json.load(sys.stdin)
wanted = re.compile(about["pattern"].encode())
seen = set()
for each in gc.get_objects():
    values = each.values() if isinstance(each, dict) else each if isinstance(each, list | tuple | set) else ()
    for value in list(values):
        text = value.encode("utf-8", "replace") if isinstance(value, str) else value
        if isinstance(text, bytes):
            seen.update(wanted.findall(text))
libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
reads, writes = os.pipe()
top, page = libc.sbrk(0), 4096
for place in range(top - page, top - (64 << 20), -page):
    if libc.write(writes, place, page) < 0:  # the kernel says what is not mapped, and nothing crashes
        break
    seen.update(wanted.findall(os.read(reads, page)))
for secret in seen:
    print("LOOT", secret)
raise RuntimeError("nothing inherited")
