"""Models: language models, tables, copies of others. `load` finds them by name or in a folder, `save` writes them."""

from guerdon.models.control import mlp as mlp
from guerdon.models.frozen_copy import snapshot as snapshot
from guerdon.models.language_model import lm as lm
from guerdon.models.model_loading import load as load
from guerdon.models.model_loading import save as save
from guerdon.models.past_selves import pool as pool
from guerdon.models.probing import probe as probe
from guerdon.models.scripted_model import scripted as scripted
from guerdon.models.tables import tabular as tabular
from guerdon.models.value_head import head as head
from guerdon.models.without_adapter import base as base
