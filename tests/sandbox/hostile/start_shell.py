# Starts a shell, with whatever the C library uses for it.
# ends: processes
import json
import subprocess
import sys

about = json.load(sys.stdin)
print("LOOT", subprocess.run(["/bin/sh", "-c", f"cat {about['secret_file']}; id"], capture_output=True).stdout)
