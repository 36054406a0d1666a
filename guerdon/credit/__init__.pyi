"""How scores become advantages: stages that read columns of rewards and give a number for every step."""

from guerdon.credit.advantage_estimation import gae as gae
from guerdon.credit.baselines import cross_baseline as cross_baseline
from guerdon.credit.baselines import role_baseline as role_baseline
from guerdon.credit.baselines import weighted_baseline as weighted_baseline
from guerdon.credit.baselines import whiten as whiten
from guerdon.credit.group_relative import centre as centre
from guerdon.credit.mix import mixed as mixed
from guerdon.credit.mix import only as only
from guerdon.credit.mix import separately as separately
from guerdon.credit.mix import teacher_log_ratio as teacher_log_ratio
from guerdon.credit.pass_at_k import best_of_k as best_of_k
from guerdon.credit.restart_values import greedy_baseline as greedy_baseline
from guerdon.credit.restart_values import restarts as restarts
from guerdon.credit.returns import redistribute as redistribute
from guerdon.credit.returns import reward_to_go as reward_to_go
from guerdon.credit.tree import branch_gain as branch_gain
from guerdon.credit.tree import prefix_gain as prefix_gain
from guerdon.credit.tree import tree_values as tree_values
from guerdon.credit.turns import turn_baseline as turn_baseline
