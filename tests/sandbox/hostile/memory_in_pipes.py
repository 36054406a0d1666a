# Fills pipes, whose memory is the kernel's. The fuse: 4,000 pipes.
# ends: forbidden, Too many open files
import fcntl
import json
import os
import sys

about = json.load(sys.stdin)
for _ in range(4000):
    reads, writes = os.pipe()
    try:
        fcntl.fcntl(writes, 1031, 1 << 20)  # F_SETPIPE_SZ
    except OSError:
        pass
    os.set_blocking(writes, False)
    os.write(writes, bytes(1 << 20))
print("LOOT")
