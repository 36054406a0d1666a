# Opens disks, memory, consoles and the kernel's log.
# ends: raised, no device
import json
import os
import sys

about = json.load(sys.stdin)
names = (
    "mem",
    "kmem",
    "port",
    "kmsg",
    "sda",
    "vda",
    "nvme0n1",
    "loop-control",
    "loop0",
    "console",
    "tty",
    "tty0",
    "ptmx",
)
for name in (
    *names,
    "fuse",
    "kvm",
    "net/tun",
    "dri/card0",
    "nvidia0",
    "vsock",
    "uinput",
    "snapshot",
    "cuse",
    "vhost-net",
):
    for how in (os.O_RDONLY, os.O_WRONLY):
        try:
            os.open(f"/dev/{name}", how | os.O_NONBLOCK)
            print("LOOT", name)
        except OSError:
            pass
raise RuntimeError("no device")
