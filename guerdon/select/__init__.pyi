"""What is learned from: filters, pairs, more tries, second roles, memories of episodes."""

from guerdon.select.filters import at_least as at_least
from guerdon.select.filters import best as best
from guerdon.select.filters import distinct as distinct
from guerdon.select.filters import during as during
from guerdon.select.filters import in_turn as in_turn
from guerdon.select.filters import top_share as top_share
from guerdon.select.filters import unlikely as unlikely
from guerdon.select.filters import until_enough as until_enough
from guerdon.select.filters import with_rate as with_rate
from guerdon.select.filters import with_spread as with_spread
from guerdon.select.hints import hint as hint
from guerdon.select.hints import hinted as hinted
from guerdon.select.hints import unhinted as unhinted
from guerdon.select.hints import until_solved as until_solved
from guerdon.select.memory import remembered as remembered
from guerdon.select.other_views import read_as as read_as
from guerdon.select.other_views import shown_as as shown_as
from guerdon.select.pairs import changed_copies as changed_copies
from guerdon.select.pairs import paired as paired
from guerdon.select.pairs import step_pairs as step_pairs
from guerdon.select.second_roles import aggregate_followups as aggregate_followups
from guerdon.select.second_roles import follow_up as follow_up
