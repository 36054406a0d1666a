"""How an episode goes."""

from guerdon.envs.at_home import by_kind as by_kind
from guerdon.envs.at_home import demonstrated as demonstrated
from guerdon.envs.at_home import home_of as home_of
from guerdon.envs.contrasting import side_by_side as side_by_side
from guerdon.envs.games.arena_games import arena as arena
from guerdon.envs.games.own_games import hunt as hunt
from guerdon.envs.games.own_games import nim as nim
from guerdon.envs.games.spiel_games import spiel as spiel
from guerdon.envs.people.asked_users import asking as asking
from guerdon.envs.people.planning import planned as planned
from guerdon.envs.people.retries import with_feedback as with_feedback
from guerdon.envs.simple import recital as recital
from guerdon.envs.simple import single_turn as single_turn
from guerdon.envs.tools.boxed_tools import interpreter as interpreter
from guerdon.envs.tools.boxed_tools import sql as sql
from guerdon.envs.tools.exact_arithmetic import calculator as calculator
from guerdon.envs.tools.folder_reading import read_file as read_file
from guerdon.envs.tools.tool_calling import ToolBroken as ToolBroken
from guerdon.envs.tools.tool_schema import Tool as Tool
from guerdon.envs.tools.tool_tasks import with_tools as with_tools
from guerdon.envs.tools.tool_worlds import tool_turns as tool_turns
from guerdon.envs.turns import InTurns as InTurns
from guerdon.envs.turns import Observed as Observed
from guerdon.envs.turns import PlayedOut as PlayedOut
from guerdon.envs.turns import Shows as Shows
from guerdon.envs.turns import World as World
