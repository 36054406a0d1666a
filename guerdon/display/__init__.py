"""What people see of runs: tables of a notebook (`notebook`), the studio's page and the report, which is that page as a file.

`run` and `reading` are the data about a run and about its rollouts, as the page asks for them; `page` is the page, in
JavaScript; `report` makes a file of both. Reads run folders and what it is given, and needs nothing but `core` and `store`.
"""
