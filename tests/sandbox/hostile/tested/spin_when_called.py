# Computes without end when it is called.
# ends: cpu
# limits: cpu=0.15
def square(x):
    while True:
        pass
