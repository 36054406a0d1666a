"""What a scorer that knows nothing makes of several tries: the best of four by a number that a hash of the text gives.

`python -m bench.blind_choice`: of four tries at a problem the right ones are often the same text and so have the same score;
whoever scores texts at random therefore chooses the rarer ones too often, and ends below a single try.
"""

from __future__ import annotations

import argparse
import hashlib

import guerdon as gd


@gd.reward(isolate=False)
def blind(completion: str) -> float:
    """The same number for the same text, and else any."""
    return int(hashlib.sha256(completion.encode()).hexdigest()[:8], 16) / 2**32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="equation:6-7")
    parser.add_argument("--tasks", type=int, default=512)
    parser.add_argument("--tries", type=int, default=4)
    args = parser.parse_args()
    how = gd.Sampling(max_tokens=80)
    numbers = gd.best_of("sprig-1.1", blind, task=args.task, n=args.tries, tasks=args.tasks, sampling=how)
    for name in ("pass@1", f"best_of@{args.tries}"):
        print(f"{name:10} {numbers[name]:.1%} ({numbers[f'{name}_low']:.1%} to {numbers[f'{name}_high']:.1%})")


if __name__ == "__main__":
    main()
