"""Rewards that ask a model: scales, rubrics, comparisons, and who answers."""

from guerdon.judges.answerer import Answerer as Answerer
from guerdon.judges.answerer import JudgeAnswer as JudgeAnswer
from guerdon.judges.answerer import JudgeQuestion as JudgeQuestion
from guerdon.judges.compare import listwise as listwise
from guerdon.judges.compare import pairwise as pairwise
from guerdon.judges.endpoints import endpoint as endpoint
from guerdon.judges.local_models import local as local
from guerdon.judges.local_models import run_model as run_model
from guerdon.judges.pointwise import judge as judge
from guerdon.judges.pointwise import self_judge as self_judge
from guerdon.judges.pointwise import yes as yes
from guerdon.judges.rubrics import criterion as criterion
from guerdon.judges.rubrics import rubric as rubric
from guerdon.network.retrying import patience as patience
