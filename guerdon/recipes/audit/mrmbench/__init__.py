"""What the hidden states of reward models know of six traits of an answer."""
