"""LeDex: wrong programs, what is wrong with them, and right ones."""
