"""Worlds of physics and other libraries' environments, several at a time."""

from guerdon.worlds.checking import WorldReport as WorldReport
from guerdon.worlds.checking import check as check
from guerdon.worlds.crowds import Catalogue as Catalogue
from guerdon.worlds.crowds import Crowd as Crowd
from guerdon.worlds.crowds import played as played
from guerdon.worlds.feeds import Feed as Feed
from guerdon.worlds.feeds import audience as audience
from guerdon.worlds.feeds import users as users
from guerdon.worlds.gymnasium_world import SomeWorld as SomeWorld
from guerdon.worlds.gymnasium_world import open_world as open_world
from guerdon.worlds.gymnasium_world import side_by_side as side_by_side
from guerdon.worlds.lock_step import gym as gym
from guerdon.worlds.sources import episodes as episodes
from guerdon.worlds.sources import streams as streams
from guerdon.worlds.step_rewards import step_reward as step_reward
