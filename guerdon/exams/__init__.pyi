"""What is asked of a run's models on held-out things, and what is measured of it."""

from guerdon.core.statistics import interval as interval
from guerdon.core.statistics import pass_at_k as pass_at_k
from guerdon.exams.best_of_n import best_of as best_of
from guerdon.exams.episode_statistics import episode_returns as episode_returns
from guerdon.exams.episode_statistics import iqm as iqm
from guerdon.exams.episode_statistics import performance_profile as performance_profile
from guerdon.exams.episode_statistics import stratified_interval as stratified_interval
from guerdon.exams.exam import Exam as Exam
from guerdon.exams.exam import Sitting as Sitting
from guerdon.exams.farming import farmed as farmed
from guerdon.exams.rates import accuracy as accuracy
from guerdon.exams.rates import answer_length as answer_length
from guerdon.exams.rates import coverage as coverage
from guerdon.exams.rates import majority_vote as majority_vote
from guerdon.exams.rates import tokens_spent as tokens_spent
from guerdon.exams.rewards_given import games_won as games_won
from guerdon.exams.rewards_given import mean_return as mean_return
from guerdon.exams.rewards_given import mean_reward as mean_reward
from guerdon.exams.scorers import auroc as auroc
from guerdon.exams.scorers import calibration as calibration
from guerdon.exams.scorers import first_error as first_error
from guerdon.exams.scorers import implicit_pairs as implicit_pairs
from guerdon.exams.scorers import pair_accuracy as pair_accuracy
from guerdon.exams.step_judging import judged_steps as judged_steps
from guerdon.exams.step_judging import sound as sound
