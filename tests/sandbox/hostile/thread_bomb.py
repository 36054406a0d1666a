# Starts threads without end. The fuse: no more than 3,000.
# ends: processes
import json
import sys
import threading
import time

about = json.load(sys.stdin)
for _ in range(3000):
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
print("LOOT", threading.active_count())
