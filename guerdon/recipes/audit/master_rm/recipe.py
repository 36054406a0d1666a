"""Master-RM: a judge with a reference that is also taught to say no to answers that stop after their first sentence.

Paper: Zhao et al. 2025, One Token to Fool LLM-as-a-Judge (arXiv:2507.08794; its data and models are released, no code was
found). Judges that compare an answer with a reference say yes to such as `:` or `Thought process:`, which say nothing. To
160,000 judged answers the authors add 20,000 that are cut after their first sentence and labelled NO, and fine-tune on all.
Here the judge grows from the model that is given, goes through solutions and near-misses of a task's problems line by line and
says its verdict; half of them begin with an opener. A share `cuts` of the items, of as many, is cut to its first line. Keys of
the exam are the paper's ten, none of which is learned from: `keys/false_positives` is how often the judge says yes, of symbols,
openers and words of other languages alike; `judge/pass@1` how often it is right about whole candidates. Untaught, and without
a reference, sprig-2 says yes to 11 of 50 such keys at problems of `countdown:2`, and to 3 at `chain:2`.
Departs: candidates are right or wrong by the task's checker and not by a larger model's word; openers are six of ours.
Leaves out: learning a policy from the judge (`--reward` has judges), inference-time fixes, and the search for further keys.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.recipes.audit.master_rm.parts import judge_exams, judged_candidates
from guerdon.recipes.house.sft import sft


@recipe(
    "master-rm",
    family="audit",
    paper="arXiv:2507.08794",
    claim=Claim(
        says="Cut answers among what a judge learns from keep it from saying yes to keys, and as right about whole ones.",
        kind="cheaper",
        baseline="master-rm cuts=0",
        task="countdown:2",
        model="sprig-2",
        settings="prompts=32 lr=1e-4",
        metric="keys/false_positives",
        better="lower",
        effect=0.05,
        keeps="judge/pass@1",
        loss=0.02,
        budget=60,
        unit="steps",
    ),
    on=sft,
)
def master_rm(
    base: Recipe,
    task: Any,
    *,
    cuts: float = 0.11,  # the paper's 20,000 of 180,000
    right: float = 0.5,  # ours: the share of right ones among whole candidates to learn from
    prompts: int = 32,
    lr: float = 1e-4,
    max_tokens: int = 64,
    exam_tasks: int = 512,
    steps: int = 60,
) -> Recipe:
    """A judge with a reference, taught on candidates some of which are cut. Examined on whole ones and on keys."""
    base.curriculum.task = judged_candidates(task, cuts, right)
    base.exams = judge_exams(task, Sampling(temperature=0.0, max_tokens=max_tokens), exam_tasks)
    return base
