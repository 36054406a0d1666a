"""Reasoning-SQL: GRPO on text to SQL with rewards for what a wrong query already has.

Paper: Pourreza et al. 2025 (arXiv:2503.23157), with the authors' training script. Beside execution (3) a query is paid for
running without an error (1), for the tables and columns it names (1, Jaccard's overlap with the right query's), for its pairs
of tokens (1, the same), for its form (1), and, where it answers wrong, by a judge who sees both queries (2). Where paper and
script differ the paper was followed: the script counts names by recall, and pays half as much for the form.
The judge is a rule here, the overlap of the queries' clauses: sprig judges no SQL, and an LLM costs more than the policy.
`form="query"` pays for one query and nothing else, which is what `text_to_sql` asks for; `form="tags"` for reasoning and answer
in tags as in the paper, for models and prompts that know them.
Leaves out: an LLM as the judge, schema filtering before the question is asked, training on BIRD.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.formula.reward import blended
from guerdon.rewards.text.queries import sql_clauses, sql_form, sql_links, sql_ngrams, sql_runs
from guerdon.rewards.text.shape import has_format

SQL: dict[str, Any] = {
    "task": "text_to_sql:6",
    "model": "sprig-2",
    "settings": "prompts=16 tries=8 lr=2e-5 max_tokens=128 text_to_sql.checker=plain",
    "budget": 250_000,
    "exam": 1000,
}


@recipe(
    "reasoning-sql",
    family="code",
    paper="arXiv:2503.23157",
    claim=Claim(
        says="Rewards for what a wrong query already has, beside execution, solve more than execution alone.",
        ablation="reasoning-sql judge=0 schema=0 ngrams=0",
        **SQL,
    ),
    on=grpo,
    needs=Needs(databases=True, text=True, sandbox=True),
    helps=("sparse",),
)
def reasoning_sql(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    execution: float = 3.0,  # this and the other weights are the paper's
    judge: float = 2.0,
    syntax: float = 1.0,
    schema: float = 1.0,
    ngrams: float = 1.0,
    formed: float = 1.0,
    form: Literal["query", "tags"] = "query",
) -> Recipe:
    """GRPO whose reward for queries is execution and five kinds of partial credit."""
    right = worth(task, reward)
    shape = sql_form() if form == "query" else has_format("<reasoning>..</reasoning><answer>..</answer>")
    terms = {"right": right, "judged": sql_clauses().vetoed_by(right), "runs": sql_runs(task)}
    terms |= {"names": sql_links(), "ngrams": sql_ngrams(), "formed": shape}
    weights = (execution, judge, syntax, schema, ngrams, formed)
    weighed = {name: term.weight(by) for (name, term), by in zip(terms.items(), weights, strict=True)}
    return paid_by(base, blended(weighed))
