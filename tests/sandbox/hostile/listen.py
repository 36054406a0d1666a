# Opens a door of its own and waits for whoever comes.
# ends: forbidden, socket
import json
import socket
import sys

about = json.load(sys.stdin)
with socket.create_server(("127.0.0.1", 0)) as door:
    print("LOOT", door.getsockname())
