# Writes null where the names of its functions belong, before it is asked for anything.
# ends: left
import os

os.write(5, b"\x04\0\0\0null")


def square(x):
    return x + 1
