"""The command line: a thin layer over `guerdon.training.api`.

One file per verb; shared code is in `options` and `output`.
"""
