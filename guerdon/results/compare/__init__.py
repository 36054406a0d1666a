"""Runs compared, from their folders alone: `gd.compare`, `guerdon compare`.

`run_arms` reads runs and puts seeds of one recipe together, `differences` gives the difference of two arms and its certainty,
`settings` the settings that differ, `prompts` the answers to one prompt; `comparison` has all of it, `as_text` and `as_page`
show it.
"""
