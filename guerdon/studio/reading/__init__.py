"""One rollout as a person reads it: its turns, its tokens, its scores with their reasons; its group; two beside each other."""
