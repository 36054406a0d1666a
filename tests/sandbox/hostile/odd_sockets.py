# Asks for every other family of sockets, whose kernel code is little used.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
trouble = None
for family in range(1, 46):
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind).close()
            print("LOOT", family, kind)
        except OSError as error:
            trouble = error
raise trouble
