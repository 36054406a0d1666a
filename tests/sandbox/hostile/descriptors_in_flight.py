# Keeps 400 descriptors in flight: all processes of a user share one limit on those, and a box is set up by sending one.
# ends: forbidden, sendmsg
import array
import json
import socket
import sys
import time

about = json.load(sys.stdin)
here, there = socket.socketpair()
with open("x", "wb") as file:
    for _ in range(4):
        rights = array.array("i", [file.fileno()] * 100)
        here.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
print("LOOT", flush=True)
time.sleep(5)
