# Takes a name that looks like a size in /proc, so that its box breaks when it is measured.
# ends: assertion
import ctypes
import time

ctypes.CDLL(None).prctl(15, b"x kB", 0, 0, 0)
until = time.process_time() + 0.2
while time.process_time() < until:
    pass


def square(x):
    return x + 1
