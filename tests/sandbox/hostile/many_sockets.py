# Fills pairs of sockets that nobody reads: 200 KB of the kernel's memory each.
# ends: forbidden, socketpair
import json
import socket
import sys

about = json.load(sys.stdin)
kept = []
for _ in range(60):
    pair = socket.socketpair()
    kept += pair
    for end in pair:
        end.setblocking(False)
        try:
            while True:
                end.send(bytes(1 << 16))
        except BlockingIOError:
            pass
print("LOOT", len(kept))
