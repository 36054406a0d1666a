"""In what form questions were asked, as metrics of a step tell it."""

from __future__ import annotations

import pytest

from guerdon.core.task import Ask, Task
from guerdon.store.summary import _form


@pytest.mark.parametrize(
    ("family", "prompt", "shown", "form"),
    [
        ("countdown", "countdown 3 7 make 10", None, "countdown"),
        ("countdown", "countdown 3 7 make 10", "48\ncountdown 3 7 make 10", "0 countdown"),
        ("verify/countdown", "verify countdown 3 7 make 10\n3+7=10", None, "verify 3+7=10"),
        ("my_rows", "Rudy runs 5 miles.\nHow long?", None, "my_rows"),
        ("my_rows/sums", "2 + 2 =", "think first:\n2 + 2 =", "think my_rows/sums"),
    ],
)
def test_a_form_is_not_what_is_asked_about(family, prompt, shown, form):
    assert _form(Ask(Task("1", prompt, "4", family), prompt=shown)) == form
