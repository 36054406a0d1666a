"""What an audit asks a reward about, by what is asked for: text, programs, queries, judges, worlds of several turns."""
