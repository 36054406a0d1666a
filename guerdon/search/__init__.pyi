"""How several ways on are tried, and one is chosen or all are kept."""

from guerdon.search.grown_trees import grown as grown
