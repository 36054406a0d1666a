"""Searching for an answer: several ways on are tried, and one is chosen or all are kept."""

from guerdon.search.beams import beam as beam
from guerdon.search.beams import lookahead as lookahead
from guerdon.search.grown_trees import sampled_tree as sampled_tree
from guerdon.search.line_tree import chosen_path as chosen_path
from guerdon.search.step_scorers import log_ratio as log_ratio
from guerdon.search.step_scorers import monte_carlo_scorer as monte_carlo_scorer
from guerdon.search.step_scorers import value_scorer as value_scorer
from guerdon.search.uct import mcts as mcts
from guerdon.search.whole_answers import best_whole as best_whole
from guerdon.search.whole_answers import revise as revise
from guerdon.search.whole_answers import vote as vote
