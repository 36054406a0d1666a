"""Learning from preferences: between tries, in pairs, of users; where they go in a circle, and where they mislead."""
