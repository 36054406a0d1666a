# Says that what follows has 4 GB.
# ends: left
import os

os.write(5, b"\xff\xff\xff\xff")


def square(x):
    return x + 1
