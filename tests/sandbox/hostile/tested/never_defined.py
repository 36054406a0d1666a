# Defines nothing of what the tests ask for.
# ends: raised
def cube(x):
    return x**3
