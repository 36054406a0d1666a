"""The studio: a local page on which people see, compare and label what a reward does. It reads run folders and nothing else.

`library` lists the runs, `entrance` checks access, `live` reports changes, `studio_app` combines them. Rooms answer what
the page asks for: `runs`, `rollouts`, `reading`, `bench`, `labels`. `page/` is what the browser loads.
"""
