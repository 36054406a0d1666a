"""Failed tries kept up to their first wrong step, and put right from there."""
