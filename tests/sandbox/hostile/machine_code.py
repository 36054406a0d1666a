# Makes its system calls from machine code that it writes into memory, past Python and the C library.
# ends: forbidden, socket
import ctypes
import json
import mmap
import os
import sys

about = json.load(sys.stdin)
code = {
    "x86_64": bytes.fromhex("b829000000bf02000000be0100000031d20f05c3"),
    "aarch64": bytes.fromhex("c81880d2400080d2210080d2020080d2010000d4c0035fd6"),
}[os.uname().machine]  # socket(AF_INET, SOCK_STREAM, 0)
memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(code)
call = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(memory)))
got = call()
if got < 0:
    raise OSError(-got, "socket")
print("LOOT", got)
