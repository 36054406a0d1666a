# Connects to a service that listens on this machine alone.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
with socket.create_connection(("127.0.0.1", about["port"]), timeout=5) as line:
    print("LOOT", line.recv(1000))
