# Asks the kernel for interfaces and routes.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as line:
    line.bind((0, 0))
    print("LOOT", line.getsockname())
