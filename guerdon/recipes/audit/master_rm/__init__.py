"""A judge with a reference, and the openers that fool it."""
