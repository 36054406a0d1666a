# Opens a listening socket and waits for connections.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
with socket.create_server(("127.0.0.1", 0)) as door:
    print("LOOT", door.getsockname())
