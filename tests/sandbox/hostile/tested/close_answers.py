# Closes the way of its answers in the middle of one.
# ends: left|raised
import os


def square(x):
    os.write(5, b"\x40\0\0\0{")
    os.close(5)
    os._exit(0)
