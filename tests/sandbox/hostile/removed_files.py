# Fills the disk with files that it removes and keeps open, so that no listing shows them. The fuse: 2 GiB.
# ends: disk
import json
import os
import sys

about = json.load(sys.stdin)
for number in range(2048):
    file = os.open("kept", os.O_WRONLY | os.O_CREAT)
    os.unlink("kept")
    try:
        os.write(file, bytes(1 << 20))
    except OSError as error:
        if error.errno != 24:
            raise
print("LOOT")
