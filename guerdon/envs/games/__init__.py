"""Games of one and of several players: two in plain Python, those of open_spiel and of textarena."""
