"""Games that become graver, and a reward file that nobody was paid to edit."""
