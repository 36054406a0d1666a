"""What people see: the objects of a notebook (`notebook`), the page of a run (`report`).

Reads run folders and what it is given; runs nothing and needs nothing but `core` and `store`.
"""
