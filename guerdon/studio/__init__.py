"""The studio: a local page on which people see, compare and label what a reward does. It reads run folders and nothing else.

`library` knows the runs, `entrance` lets people in, `live` tells of changes, `studio_app` puts it together. Rooms answer what
the page asks for: `runs`, `rollouts`, `reading`, `bench`, `labels`. `page/` is what the browser loads.
"""
