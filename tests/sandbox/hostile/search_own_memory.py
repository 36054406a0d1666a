# Looks for secrets that its own memory inherited: in the heap, where objects lie, and above the stack.
# ends: raised, nothing inherited
import ctypes
import gc
import json
import os
import re
import sys

about = json.load(sys.stdin)
wanted = re.compile(about["pattern"].encode())
libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
libc.write.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)
environ = ctypes.c_void_p.in_dll(libc, "environ").value or id(about)
reads, writes = os.pipe()
page, seen = 4096, set()
starts = {libc.sbrk(0) - (8 << 20), environ & ~0xFFF, *((id(each) & ~0xFFFFF) for each in [*gc.get_objects(), "", b""])}
for start in starts:
    for place in range(start, start + (8 << 20 if start == min(starts) else 1 << 20), page):
        if libc.write(writes, place, page) == page:  # the kernel says what is not mapped, and nothing crashes
            seen.update(wanted.findall(os.read(reads, page)))
for secret in seen:
    print("LOOT", secret)
raise RuntimeError("nothing inherited")
