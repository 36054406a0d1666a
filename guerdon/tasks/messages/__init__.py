"""Families of short texts with exact truth: messages to write, replies of a tutor, sentences to translate."""
