# Gives the machine another name.
# ends: forbidden, sethostname
import json
import socket
import sys

about = json.load(sys.stdin)
socket.sethostname("owned")
print("LOOT")
