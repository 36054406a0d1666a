"""A reward's bench: what it says about a completion, part by part, and what other weights would have taught."""
