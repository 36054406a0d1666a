"""A user's own items for simulated feeds: a row for each, with its category, its appeal, and who made it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from guerdon.data.opening import open_records
from guerdon.studies.streams import number_in, rows_with
from guerdon.worlds.crowds import Catalogue


def own_catalogue(file: str, columns: Sequence[str] = ("category", "appeal")) -> Catalogue:
    """The items of a file; with a column `creator` among `columns`, who made them. Categories and creators are in the order in
    which their names first appear."""
    kinds, creators = dict[str, int](), dict[str, int]()
    rows = list[tuple[int, float, int]]()
    for place, row in rows_with(open_records(file, file), columns):
        kind = kinds.setdefault(str(row["category"]), len(kinds))
        maker = creators.setdefault(str(row["creator"]), len(creators)) if "creator" in columns else len(rows)
        rows.append((kind, number_in(row, "appeal", place, 0.0, 1.0), maker))
    category, appeal, creator = zip(*rows, strict=True)
    return Catalogue(np.array(category), np.array(appeal), np.array(creator), tuple(kinds))
