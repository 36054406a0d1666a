"""ReasonFlux-PRM: a process reward model of thinking traces, which chooses what to imitate.

Paper: Zou et al. 2025 (arXiv:2506.18896), with the released code (github.com/Gen-Verse/ReasonFlux), which has the head
(ReasonFlux_PRM/utils/rm_utils.py: a sigmoid of one number) and not how labels are made, which follows summaries. Of a trace
that thinks and then responds, a step is worth a softmax-weighted sum of how near it is to the response, whether it is sound
and whether it follows from the one before; the whole, how often answers that follow its template are right. Both are taught by
squared error, and their sum ranks traces: the best fifth is imitated (`use=select`; `by=any`: any fifth), it is mixed into
GRPO's reward (`mix`), or it chooses among tries (`choose`: the scorer alone, with an exam of that). Traces are tries of the
start model, such as `searcher` trains; the last way is the response, its first half the template, the step checker says what
is sound where the paper asks a large model, and coherence is a chance and not its logarithm. The budget is that of the run
that uses the scorer, as in the paper. Leaves out: templates in words, and traces of other models.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.core.task import Sampling
from guerdon.recipes.process.reasonflux_prm.parts import trace_labels
from guerdon.recipes.process.scored_uses import scorer_exams, scorer_of_tries, taught_at_both, used
from guerdon.rewards.stage.score_stages import verified


@recipe(
    "reasonflux-prm",
    family="process",
    paper="arXiv:2506.18896",
    claim=Claim(
        says="Imitating the fifth of traces that a scorer of thinking likes best ends higher than imitating any fifth.",
        baseline="reasonflux-prm by=any",
        ablation="reasonflux-prm sees=response",
        task="countdown:1-6",
        settings="prompts=8 tries=8 steps=30 max_tokens=192",
        start="searcher",
        budget=250_000,
    ),
    needs=Needs(answers=True, text=True, learns_from="a scorer that it teaches"),
    helps=("unsound-steps",),
)
def reasonflux_prm(
    task: Any,
    model: Model,
    *,
    use: Literal["select", "mix", "choose"] = "select",
    by: Literal["scorer", "any"] = "scorer",
    sees: Literal["trace", "response"] = "trace",
    share: float = 0.2,  # of the scorer in the reward of `mix`, and of the traces that `select` imitates
    whole: float = 1.0,  # weight of the whole trace, in the loss and in the ranking; the paper's alpha
    follow: int = 2,  # answers that follow a template
    lr: float = 1e-4,  # of the policy
    scorer_lr: float = 3e-4,
    prompts: int = 16,
    tries: int = 8,
    temperature: float = 1.0,
    max_tokens: int = 256,
    exam_tasks: int = 64,
    steps: int = 40,  # of teaching the scorer
) -> Recipe | Study:
    """A scorer of thinking traces, and a policy that imitates those it likes best."""
    how, labels = Sampling(temperature, max_tokens), trace_labels(task, verified(task), sees=sees, tries=follow)
    loss = taught_at_both("square", whole if sees == "trace" else 0.0)
    teach = scorer_of_tries(task, model, [labels], loss, how, prompts=prompts, tries=tries, lr=scorer_lr, steps=steps)
    teach.exams = scorer_exams(task, whole, exam_tasks, judged=False)  # a step checker knows one way, and not the next
    return used(use, teach, task, model, share=share, whole=whole, lr=lr, by=by)
