# Locks a part of the interpreter's own file for reading, which blocks every process that locks it for writing.
# ends: forbidden, fcntl
# limits: processes=2
import fcntl
import json
import os
import sys
import threading

about = json.load(sys.stdin)
with open(os.__file__, "rb") as file:
    threads = [threading.Thread(target=fcntl.lockf, args=(file, fcntl.LOCK_SH, 1, at)) for at in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    fcntl.lockf(file, fcntl.LOCK_SH)
print("LOOT")
