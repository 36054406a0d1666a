"""The command line: a thin coat over `guerdon.loop.api`.

One file a verb; what verbs share is in `options` and `output`.
"""
