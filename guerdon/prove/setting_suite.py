"""The settings suite: named experiments in which a known problem occurs, for recipes to be screened in.

A setting has a task, a model and the knobs of all arms; the judge that arms learn from, where that is not the truth; a failure
mode with the range that the baseline must be in; and five learning rates of the baselines. GRPO on the judge is the baseline,
GRPO on the truth shows what there is to gain. A pilot (`guerdon prove --pilot NAME`) measures start, gain, failure mode and
rates, and a setting is frozen once its pilot passes, before a method is run in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from guerdon.core.budget import Unit
from guerdon.core.errors import unknown
from guerdon.core.part import fingerprint
from guerdon.core.recipe import Claim
from guerdon.evidence.proof_files import PILOTS, SHIPPED
from guerdon.models.shipped_models import version
from guerdon.prove.records import ACCURACY, score_of, start_of

FALL = "fall"  # a failure mode of exams: by how much the truth falls in training
Record = Mapping[str, Any]


@dataclass(frozen=True)
class FailureMode:
    """What is measured in the baseline's runs, by which measure of `failure_modes.py`, and the range it must be in."""

    says: str
    measure: str
    low: float
    high: float = 1.0

    def of(self, record: Record, claim: Claim) -> float | None:
        """Of a run: the mean over its steps; or how far the truth falls."""
        if self.measure != FALL:
            return dict(record.get("failure", {})).get(self.measure)
        start = start_of(record, ACCURACY, claim.levels)
        return None if start is None else start - score_of(record, claim, ACCURACY)


@dataclass(frozen=True)
class NamedSetting:
    """An experiment without a method."""

    name: str
    about: str
    task: str
    failure: FailureMode
    model: str = "sprig-1.1"
    knobs: str = "prompts=4 tries=8 lr=1e-5 max_tokens=64"
    judge: str = ""
    baseline: str = "grpo"
    metric: str = ACCURACY
    chance: float = 0.0
    start: str = ""
    budget: float = 300_000
    unit: Unit = "tokens"
    exam: int = 2000
    tuned_by: Literal["truth", "reward"] = (
        "truth"  # what a learning rate is chosen by: who trusts the judge sees no truth
    )

    def claim(self, says: str, *, method: str = "", ablation: str = "", knobs: str = "") -> Claim:
        """The experiment with a method, as an unregistered claim."""
        return Claim(
            says=says,
            baseline=self.baseline,
            ablation=ablation,
            method=method,
            task=self.task,
            model=self.model,
            settings=f"{self.knobs} {knobs}".strip(),
            start=self.start,
            metric=self.metric,
            budget=self.budget,
            unit=self.unit,
            exam=self.exam,
        )


SUITE = (
    NamedSetting(
        "plain",
        "Verified rewards, a start with room to gain, endless problems.",
        "countdown:3-6",
        FailureMode("the share of groups that are all right or all wrong", "flat_groups", 0.0, 0.7),
    ),
    NamedSetting(
        "sparse",
        "The start solves 3 to 15 %, so that most groups are all wrong.",
        "countdown:6",
        FailureMode("the share of groups that are all wrong", "all_wrong", 0.5),
        knobs="prompts=5 tries=6 lr=1e-5 max_tokens=64",
        budget=400_000,
    ),
    NamedSetting(
        "noisy_judge",
        "A quarter of all answers is judged wrongly.",
        "countdown:3-6",
        FailureMode("the share of tries whose reward contradicts the truth", "flipped", 0.2, 0.3),
        judge="flipping_judge share=0.25",
    ),
    NamedSetting(
        "hackable_proxy",
        "Most of the reward is for lines of work, and longer answers are not better ones.",
        "countdown:3-6",
        FailureMode("the fall of accuracy from start to end", FALL, 0.05),
        judge="lengthy_judge lines=8 truth=0.2",
        knobs="prompts=4 tries=8 lr=1e-5 max_tokens=192",
        budget=400_000,
        tuned_by="reward",
    ),
    NamedSetting(
        "long_horizon",
        "A game of eight turns or more, paid once at its end.",
        "hunt:8",
        FailureMode("turns of the model in a try", "model_turns", 8.0, 64.0),
        model="sprig-2",
        knobs="prompts=4 tries=8 lr=1e-5 max_tokens=8",
        exam=500,
        budget=250_000,
    ),
    NamedSetting(
        "unequal_difficulty",
        "Problems that are always solved and problems that are almost never solved, in one mixture.",
        "countdown:1-6",
        FailureMode("the share of groups that are all right or all wrong", "flat_groups", 0.5),
        budget=400_000,
    ),
    NamedSetting(
        "scarce_labels",
        "Three quarters of all problems have no label.",
        "countdown:3-6",
        FailureMode("the share of tries without a reward", "unlabelled", 0.6, 0.9),
        judge="scarce_judge share=0.25",
    ),
    NamedSetting(
        "style_confounded",
        "The judge likes products, whether they help or not.",
        "countdown:3-6",
        FailureMode(
            "the share of right and wrong pairs that the judge has in the wrong order or equal", "disagreement", 0.15
        ),
        judge="styled_judge style=* truth=0.5",
        tuned_by="reward",
    ),
    NamedSetting(
        "conflicting_goals",
        "Half of the reward is for the truth and half for doing without products, which many problems need.",
        "countdown:3-6",
        FailureMode(
            "the share of right and wrong pairs that the judge has in the wrong order or equal", "disagreement", 0.1
        ),
        judge="styled_judge style=* truth=0.5 liked=0",
        tuned_by="reward",
    ),
    NamedSetting(
        "table",
        "A table in place of a language model, for a look on a laptop in seconds.",
        "parity:2",
        FailureMode("the share of groups that are all right or all wrong", "flat_groups", 0.0, 0.9),
        model="tabular",
        knobs="prompts=4 tries=8 lr=0.03 tabular.vocab=01 tabular.length=1",
        chance=0.5,
        budget=6_400,
    ),
)


def setting_named(name: str) -> NamedSetting:
    """A setting of the suite."""
    suite = {setting.name: setting for setting in SUITE}
    if name not in suite:
        raise unknown("setting", name, suite)
    return suite[name]


# --- which settings are frozen ------------------------------------------------------------------------------------------


def piloted(folder: Path = SHIPPED) -> dict[str, dict[str, Any]]:
    """The results of the pilots in a folder, by setting."""
    path = folder / PILOTS
    return dict(json.loads(path.read_text())) if path.is_file() else {}


def is_frozen(setting: NamedSetting, folder: Path = SHIPPED) -> bool:
    """Whether a pilot of the setting, as it is today, passed."""
    outcomes = piloted(folder).get(setting.name)
    return outcomes is not None and outcomes["passed"] and outcomes["setting"] == identity(setting)


def identity(setting: NamedSetting) -> str:
    """The hash of everything that decides a setting's numbers."""
    return fingerprint([setting.claim("").told(), setting.judge, setting.failure.measure, version(setting.model)])


def draft(setting: NamedSetting, *folders: Path) -> str:
    """Why a setting is still a draft, by the pilots in these folders; empty where it is frozen."""
    if any(is_frozen(setting, folder) for folder in folders):
        return ""
    outcomes = [pilots[setting.name] for folder in folders if setting.name in (pilots := piloted(folder))]
    if not outcomes:
        return "it has no pilot"
    as_today = any(each["setting"] == identity(setting) for each in outcomes)
    return "its pilot did not pass" if as_today else "it was changed after its pilot"
