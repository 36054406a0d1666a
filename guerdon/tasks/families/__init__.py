"""The problem families of the package, each with exact truth down to the step."""
