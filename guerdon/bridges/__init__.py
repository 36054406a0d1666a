"""Guerdon rewards in other trainers and over HTTP, and their rewards here."""
