# Connects to a service of the user's through a socket in the file system.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
with socket.socket(socket.AF_UNIX) as line:
    line.connect(about["unix"])
    print("LOOT", line.recv(1000))
