# Types into the user's terminal, through any descriptor that is one.
# ends: raised|forbidden
import fcntl
import json
import os
import sys

about = json.load(sys.stdin)
trouble = None
for number in range(64):
    try:
        fcntl.ioctl(number, 0x5412, b" ")  # TIOCSTI
        print("LOOT", number)
    except OSError as error:
        trouble = error if error.errno != 9 else trouble
    try:
        if os.isatty(number):
            print("LOOT", number)
    except OSError:
        pass
raise trouble
