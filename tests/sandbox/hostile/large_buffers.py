# Asks for sockets with larger buffers, which are the kernel's memory.
# ends: forbidden, setsockopt
import json
import socket
import sys

about = json.load(sys.stdin)
kept = []
for _ in range(30):
    here, there = socket.socketpair()
    kept += [here, there]
    here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
print("LOOT")
