"""Names of `core/statistics.py` by the path they had; `loop/proof` still asks for them here."""

from __future__ import annotations

from guerdon.core.statistics import Z95 as Z95
from guerdon.core.statistics import even_mean as even_mean
from guerdon.core.statistics import mean_and_spread as mean_and_spread
from guerdon.core.statistics import t_above as t_above
from guerdon.core.statistics import t_interval as t_interval
from guerdon.core.statistics import t_quantile as t_quantile
