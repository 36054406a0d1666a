"""Runs held against each other, from their folders alone: `gd.compare`, `guerdon compare`.

`run_arms` reads runs and puts seeds of one recipe together, `differences` says how far apart two arms are and how sure that is,
`settings` what was done differently, `prompts` what was said to one prompt; `comparison` has all of it, `as_text` and `as_page`
show it.
"""
