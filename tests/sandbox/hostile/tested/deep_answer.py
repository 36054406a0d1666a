# Answers with a list in a list, a million deep.
# ends: raised|output
def square(x):
    nested = []
    for _ in range(1_000_000):
        nested = [nested]
    return nested
