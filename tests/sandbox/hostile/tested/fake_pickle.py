# Answers with an object that would run code where it is unpickled.
# ends: raised|assertion
import os


class Trap:
    def __reduce__(self):
        return os.system, ("echo LOOT > /tmp/guerdon-trap",)


def square(x):
    return [Trap()]
