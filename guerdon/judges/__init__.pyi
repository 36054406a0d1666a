"""Rewards that ask a model: scales, rubrics, comparisons, and who answers."""

from guerdon.judges.answerer import Answer as Answer
from guerdon.judges.answerer import Answerer as Answerer
from guerdon.judges.answerer import Asked as Asked
from guerdon.judges.compare import listwise as listwise
from guerdon.judges.compare import pairwise as pairwise
from guerdon.judges.endpoint import endpoint as endpoint
from guerdon.network.retrying import patience as patience
from guerdon.judges.judge import judge as judge
from guerdon.judges.judge import self_judge as self_judge
from guerdon.judges.judge import yes as yes
from guerdon.judges.local import local as local
from guerdon.judges.local import run_model as run_model
from guerdon.judges.rubric import checklist as checklist
from guerdon.judges.rubric import criterion as criterion
from guerdon.judges.rubric import rubric as rubric
