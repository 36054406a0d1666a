# Ignores every signal that can be ignored, and computes without end.
# ends: cpu
# limits: cpu=0.15
import json
import signal
import sys

about = json.load(sys.stdin)
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    try:
        signal.signal(number, signal.SIG_IGN)
    except OSError:
        pass
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
while True:
    pass
