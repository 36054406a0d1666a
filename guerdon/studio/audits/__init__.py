"""The room of audits: which there are, one of them, two side by side."""
