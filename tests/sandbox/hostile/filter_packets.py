# Has the kernel compile a filter of packets, which is code of a stranger's inside the kernel.
# ends: forbidden, setsockopt
import ctypes
import json
import socket
import struct
import sys

about = json.load(sys.stdin)
here, there = socket.socketpair()
steps = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xFFFF), 8)
here.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HxxxxxxP", 1, ctypes.addressof(steps)))  # SO_ATTACH_FILTER
print("LOOT")
