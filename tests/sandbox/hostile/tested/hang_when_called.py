# Never answers.
# ends: wall
# limits: wall=0.3
import time


def square(x):
    time.sleep(600)
