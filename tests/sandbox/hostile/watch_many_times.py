# Adds the same few descriptors to many epolls under every number there is: each costs the kernel memory. The fuse: 20,800.
# ends: forbidden, epoll_ctl
import json
import os
import select
import sys

about = json.load(sys.stdin)
polls = [select.epoll() for _ in range(40)]
added = 0
for _ in range(20):
    reads, writes = os.pipe()
    for number in range(100, 126):
        os.dup2(reads, number)
        for poll in polls:
            poll.register(number, select.EPOLLIN)
            added += 1
        os.close(number)
print("LOOT", added)
