"""Searching for an answer: several ways on are tried, and one is chosen or all are kept."""

from guerdon.search.beams import beam as beam
from guerdon.search.beams import lookahead as lookahead
from guerdon.search.grown_trees import grown as grown
from guerdon.search.line_tree import chosen_way as chosen_way
from guerdon.search.step_scorers import headed as headed
from guerdon.search.step_scorers import log_ratio as log_ratio
from guerdon.search.step_scorers import played_out as played_out
from guerdon.search.uct import mcts as mcts
from guerdon.search.whole_answers import revise as revise
from guerdon.search.whole_answers import vote as vote
