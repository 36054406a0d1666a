# Crashes in C when it is called.
# ends: crashed, SIGSEGV
import ctypes


def square(x):
    ctypes.memset(1, 0, 8)
