"""OREAL: outcome rewards, with weights for tokens."""
