"""The adversary: looks for completions that a reward likes and the truth rejects, shrinks them and says what they are."""
