# Raises the limits that it is held to.
# ends: raised, limit
import json
import resource
import sys

about = json.load(sys.stdin)
for name in ("RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_NOFILE", "RLIMIT_CORE"):
    try:
        resource.setrlimit(getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print("LOOT", name)
    except (ValueError, OSError):
        pass
raise RuntimeError("no limit was raised")
