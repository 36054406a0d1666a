"""A reward's bench: its score of a completion, part by part, and the advantages under other weights."""
