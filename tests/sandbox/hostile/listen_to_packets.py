# Listens to every packet that passes.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as line:
    print("LOOT", line)
