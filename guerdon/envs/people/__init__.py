"""Environments with somebody else in them: a user who must be asked, one who says what is wrong, a planner and who carries
it out."""
