# Fills pipes in many children. The fuse: 30 children with 60 pipes.
# ends: raised|forbidden, Too many open files
# limits: processes=32
import json
import os
import sys

about = json.load(sys.stdin)
reads, writes = os.pipe()
for _ in range(30):
    if os.fork() == 0:
        os.close(reads)
        try:
            for _ in range(60):
                _, end = os.pipe()
                os.set_blocking(end, False)
                os.write(end, bytes(1 << 16))
        except OSError as error:
            os.write(writes, error.strerror.encode()[:19].ljust(20))
        os._exit(0)
os.close(writes)
while os.wait()[0] and (text := os.read(reads, 20)):
    raise OSError(24, text.decode().strip())
print("LOOT")
