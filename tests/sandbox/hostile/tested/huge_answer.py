# Answers with a text of hundreds of megabytes.
# ends: raised|memory|output
def square(x):
    return "9" * (200 << 20)
