# Answers with a number of a million digits.
# ends: raised|output|assertion
def square(x):
    return 1 << 40_000_000
