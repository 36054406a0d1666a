# Resumes its processes whenever they are stopped to be measured: by signals, and by a timer. The fuse: 8 of 200 MiB.
# ends: memory
# limits: processes=8
import ctypes
import json
import os
import sys
import threading
import time

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
said, timer = (ctypes.c_int * 16)(0, 0, 18, 0), ctypes.c_void_p()
if libc.timer_create(1, said, ctypes.byref(timer)) == 0:
    libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 10_000, 0, 10_000), None)
    print("LOOT")


def resume():
    while True:
        if libc.kill(-1, 18) == 0:
            print("LOOT")


for _ in range(6):
    if os.fork() == 0:
        threading.Thread(target=resume, daemon=True).start()
        kept = bytearray(b"x") * (200 << 20)
        time.sleep(60)
        os._exit(0)
time.sleep(20)
print("LOOT")
