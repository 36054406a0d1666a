"""What is asked of a run's models on held-out things, and what is measured of it."""

from guerdon.exams.best_of_n import best_of as best_of
from guerdon.exams.best_of_n import chosen as chosen
from guerdon.exams.exam import Exam as Exam
from guerdon.exams.exam import Sitting as Sitting
from guerdon.exams.games import mean_return as mean_return
from guerdon.exams.games import win_rate as win_rate
from guerdon.exams.rates import accuracy as accuracy
from guerdon.exams.rates import coverage as coverage
from guerdon.exams.rates import length as length
from guerdon.exams.rates import majority as majority
from guerdon.exams.scorers import calibration as calibration
from guerdon.exams.scorers import first_error as first_error
from guerdon.exams.scorers import pair_accuracy as pair_accuracy
from guerdon.exams.statistics import interval as interval
from guerdon.exams.statistics import pass_at_k as pass_at_k
