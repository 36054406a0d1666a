# Connects to a service of the user's whose name no file system shows.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
with socket.socket(socket.AF_UNIX) as line:
    line.connect("\0" + about["abstract"])
    print("LOOT", line.recv(1000))
