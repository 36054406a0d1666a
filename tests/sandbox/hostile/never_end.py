# Is through, but what it has registered for its end never ends.
# ends: wall|done
# limits: wall=0.3
import atexit
import json
import sys
import threading
import time

about = json.load(sys.stdin)
atexit.register(time.sleep, 600)
threading.Thread(target=time.sleep, args=(600,)).start()
