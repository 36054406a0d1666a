"""PRIME: token rewards learned online from outcomes."""
