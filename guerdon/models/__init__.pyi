"""Models: language models, tables, copies of others. `load` finds them by name or in a folder, `save` writes them."""

from guerdon.models.foreign_model import foreign as foreign
from guerdon.models.frozen_copy import snapshot as snapshot
from guerdon.models.language_model import lm as lm
from guerdon.models.model_loading import NAMES as NAMES
from guerdon.models.model_loading import SHIPPED as SHIPPED
from guerdon.models.model_loading import is_named as is_named
from guerdon.models.model_loading import load as load
from guerdon.models.model_loading import save as save
from guerdon.models.model_loading import version as version
from guerdon.models.past_selves import past_self as past_self
from guerdon.models.past_selves import pool as pool
from guerdon.models.probing import probe as probe
from guerdon.models.tables import tabular as tabular
from guerdon.models.value_head import head as head
from guerdon.models.without_adapter import base as base
