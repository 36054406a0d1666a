"""The pages of the docs site that are made from the code: references, the command line, evidence. `make docs` builds it."""
