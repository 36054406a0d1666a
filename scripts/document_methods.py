"""Writes docs/methods.md: which methods are for which problem, by what was measured; `make pages` calls it."""

from __future__ import annotations

import argparse
from pathlib import Path

from guerdon.core.problems import PROBLEMS
from guerdon.training.advice import OWNED, Method, advise, for_problem

PAGE = Path(__file__).parent.parent / "docs" / "methods.md"
HEAD = """# Which method for which problem

`guerdon advise` asks what you have and what goes wrong, and names at most five methods with what was measured, the cost and the command:

```console
$ guerdon advise --have tests --problem sparse --model sprig
1. reflexicoder
   measured  ahead, on sprig-2: pass@1 +0.0498 (+0.0361 to +0.0635) against
...
```

With `--data FILE` the columns of your file say what you have. `guerdon list recipes --for PROBLEM` lists the methods for a problem. Both read the same table as this page: each recipe declares the
problems that it is for (`@recipe(..., helps=("sparse",))`) and what it [needs](usable.md); what was measured is its [evidence](evidence.md).

**Order.** First the methods that were measured and are not behind, by the lower bound of the 95 % interval of the difference to their baseline, in units of the minimum effect; then those that were not
measured; then those that are behind. A method with several claims is shown with the one that is about the problem, and with the one that is behind if there is one. `advise` ranks `grpo`, the baseline of most, with the
difference 0: where it comes first, no measured method is ahead on such data. A method whose needs you can meet only by something else (a judge in place of answers, a model in place of a step checker) counts as not
measured. Most results are of small models on generated problems, and a baseline may be a variant of the method itself: read the columns, not the order alone. `guerdon advise` says which results are stale.
"""


def page() -> str:
    problems = [
        f"## {word.replace('-', ' ').capitalize()}\n\n`{word}`: {about}.\n\n{_table(_rows(for_problem(word)))}"
        for word, about in PROBLEMS.items()
    ]
    having = "## By what you have\n\nWithout a problem in particular.\n\n" + _table(
        [
            ["`--have`", "you have", "first methods"],
            *([f"`{word}`", each.about, ", ".join(_names(word))] for word, each in OWNED.items()),
        ]
    )
    return "\n".join([HEAD, *problems, having])


def _names(have: str) -> list[str]:
    return [f"`{each.recipe.name}`" for each in advise([have])[:3]]


def _rows(methods: list[Method]) -> list[list[str]]:
    titles = ["recipe", "needs", "measured", "cost", "command"]
    return [
        titles,
        *(
            [
                f"`{each.recipe.name}`",
                str(each.recipe.needs),
                _result(each),
                each.measured.cost if each.measured else "",
                f"`{each.command}`",
            ]
            for each in methods
        ),
    ]


def _result(method: Method) -> str:
    """Its baseline is a command, not words."""
    baseline = method.measured.baseline if method.measured else ""
    return method.result.replace(f"against {baseline}", f"against `{baseline}`") if baseline else method.result


def _table(rows: list[list[str]]) -> str:
    lines = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    PAGE.write_text(page())
    print(f"wrote {PAGE.name}: {len(PROBLEMS)} problems")


if __name__ == "__main__":
    main()
