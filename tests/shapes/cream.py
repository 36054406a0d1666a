"""CREAM (arXiv:2410.12735): self-rewarding preferences, softened where the previous model would rank otherwise."""

from __future__ import annotations

import dataclasses

import torch
from codes import codes

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import dataset_env, single_turn
from guerdon.losses.imitation import sft
from guerdon.losses.pair import dpo
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import verified


def ranks(value):
    """Ranks from 0; ties in the order they come, as in the authors' code."""
    return torch.argsort(torch.argsort(value, stable=True), stable=True)


def agreement(a, b):
    """(Kendall's tau + 1) / 2: the share of pairs that both rankings order alike."""
    i, j = torch.triu_indices(len(a), len(a), 1)
    ra, rb = ranks(a), ranks(b)
    return ((ra[i] < ra[j]) == (rb[i] < rb[j])).float().mean()


@gd.part
class self_preference:
    """Per ask: the likeliest answer over the unlikeliest, labelled by how far the previous model agrees on the order."""

    soft: bool = True
    needs, gives = ("present.logp", "previous.logp"), ("pairs",)

    def __call__(self, batch, play):
        now, then = (batch.up(batch[f"{m}.logp"], "track", by="mean") for m in ("present", "previous"))
        group, n = batch.group("ask")
        better, worse, label = [], [], []
        for g in range(n):
            tries = torch.nonzero(group == g).flatten()
            top, low = tries[now[tries].argmax()], tries[now[tries].argmin()]
            if now[top] > now[low]:
                better.append(top), worse.append(low)
                label.append(agreement(now[tries], then[tries]) if self.soft else torch.tensor(1.0))
        if not label:
            return batch
        play.log(consistency=float(torch.stack(label).mean()))
        pairs = gd.Pairs.of(torch.stack(better), torch.stack(worse), label=torch.stack(label))
        return dataclasses.replace(batch, pairs=pairs).recount()


@gd.part
class hearsay(codes):
    """The codes as a careless teacher tells them: every third one is wrong."""

    def get(self, split, index):
        task = super().get(split, index % self.letters)
        return task if index % 3 else dataclasses.replace(task, answer=task.answer[::-1])

    def size(self, split):
        return None


@gd.recipe("cream", family="self_reward", paper="arXiv:2410.12735")
def cream(lr: float = 0.05, soft: bool = True, beta: float = 0.1, every: int = 10, rows: int = 256, steps: int = 60):
    """Learn from hearsay, then iterate self-rewarding DPO: every `every` steps the present model becomes the previous
    and the policy the present one."""
    task, heard = codes(letters=10), uniform(hearsay(letters=10), tries=1)

    def body(run, seed):
        teach = gd.Learn("policy", sft(), opt=adam(lr=0.1))
        first = gd.Recipe(
            {"policy": tabular("0123", length=3, rows=rows)}, heard, dataset_env(), [teach], prompts=20, steps=10
        )
        ages = {"previous": snapshot("present", every=every), "present": snapshot("policy", every=every)}
        models = {"policy": run.train(first).model(), **ages}
        learn = gd.Learn("policy", dpo(beta=beta, to="present"), opt=adam(lr=lr))
        stages = [verified(task), self_preference(soft=soft), learn]
        done = gd.Recipe(
            models, uniform(task, tries=8), single_turn(), stages, exams=[gd.Exam(task)], prompts=10, steps=steps
        )
        return {"run": str(run.train(done).path)}

    return gd.Study(body)
