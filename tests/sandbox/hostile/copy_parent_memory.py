# Copies the canary out of the parent's memory in one system call.
# ends: forbidden, process_vm_readv
import ctypes
import json
import struct
import sys

about = json.load(sys.stdin)
libc = ctypes.CDLL(None, use_errno=True)
mine = ctypes.create_string_buffer(about["length"])
here = struct.pack("PP", ctypes.addressof(mine), about["length"])
there = struct.pack("PP", about["address"], about["length"])
if libc.process_vm_readv(about["parent"], here, 1, there, 1, 0) < 0:
    raise OSError(ctypes.get_errno(), "process_vm_readv")
print("LOOT", mine.raw)
