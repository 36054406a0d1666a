# Answers with a list that holds itself.
# ends: raised|output
def square(x):
    circle = []
    circle.append(circle)
    return circle
