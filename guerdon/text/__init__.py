"""Answers in text: found, compared and counted. Needs the standard library alone."""
