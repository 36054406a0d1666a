"""How an episode goes."""

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
from guerdon.envs.turns import InTurns as InTurns
from guerdon.envs.turns import Observed as Observed
from guerdon.envs.turns import PlayedOut as PlayedOut
from guerdon.envs.turns import World as World
