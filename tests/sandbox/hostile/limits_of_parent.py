# Sets limits of the process that runs the sandbox.
# ends: forbidden, prlimit64
import json
import resource
import sys

about = json.load(sys.stdin)
print("LOOT", resource.prlimit(about["parent"], resource.RLIMIT_NOFILE))
