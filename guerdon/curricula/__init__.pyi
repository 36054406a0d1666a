"""What is asked next: which problems, how many tries at each."""

from guerdon.curricula.bandits import bandit as bandit
from guerdon.curricula.bandits import boltzmann as boltzmann
from guerdon.curricula.bandits import magnitude as magnitude
from guerdon.curricula.bandits import ucb as ucb
from guerdon.curricula.blends import proportions as proportions
from guerdon.curricula.demonstrations import contrasts as contrasts
from guerdon.curricula.demonstrations import dataset_rows as dataset_rows
from guerdon.curricula.forecast_problems import predicted as predicted
from guerdon.curricula.forecast_problems import prompts_alone as prompts_alone
from guerdon.curricula.opponents import against as against
from guerdon.curricula.plain import in_stages as in_stages
from guerdon.curricula.plain import uniform as uniform
from guerdon.curricula.plain import validation_problems as validation_problems
from guerdon.curricula.success_records import by_variance as by_variance
from guerdon.curricula.success_records import history_of as history_of
from guerdon.curricula.success_records import recorded as recorded
from guerdon.curricula.token_budgets import budgeted as budgeted
from guerdon.curricula.tries_by_worth import knapsack as knapsack
