"""The hostile programs are read as text and run in boxes alone: pytest, which imports what it collects, must not see them."""

collect_ignore_glob = ["hostile/*"]
