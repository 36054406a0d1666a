"""How an episode goes."""

from guerdon.envs.at_home import by_kind as by_kind
from guerdon.envs.at_home import demonstrated as demonstrated
from guerdon.envs.at_home import home_of as home_of
from guerdon.envs.contrasting import side_by_side as side_by_side
from guerdon.envs.pages.own_pages_source import own_pages as own_pages
from guerdon.envs.pages.page_html import site_from_html as site_from_html
from guerdon.envs.pages.page_html import to_html as to_html
from guerdon.envs.pages.page_site import Site as Site
from guerdon.envs.pages.page_sources import cursor as cursor
from guerdon.envs.pages.page_sources import forms as forms
from guerdon.envs.pages.page_sources import inbox as inbox
from guerdon.envs.pages.page_sources import menus as menus
from guerdon.envs.pages.page_sources import shop as shop
from guerdon.envs.pages.page_sources import tables as tables
from guerdon.envs.pages.page_world import browsing as browsing
from guerdon.envs.simple import recital as recital
from guerdon.envs.simple import single_turn as single_turn
from guerdon.envs.turns import InTurns as InTurns
from guerdon.envs.turns import Observed as Observed
from guerdon.envs.turns import PlayedOut as PlayedOut
from guerdon.envs.turns import Shows as Shows
from guerdon.envs.turns import World as World
