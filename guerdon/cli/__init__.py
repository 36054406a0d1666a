"""The command line: a thin layer over `guerdon.loop.api`.

One file per verb; shared code is in `options` and `output`.
"""
