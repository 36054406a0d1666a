"""How a judge goes through an attempt: what it works out at each line, and what it says in the end."""
