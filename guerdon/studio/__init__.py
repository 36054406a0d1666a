"""The studio: a local page on which people see, compare and label what a reward does. It reads run folders and nothing else.

`library` knows the runs, `gate` lets people in, `live` tells of changes, `app` puts it together; a room a view (`runs`,
`rollouts`, `bench`, `labels`) answers what the page asks for, and `page/` is what the browser loads.
"""
