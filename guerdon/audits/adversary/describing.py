"""What the search found, told: hacks in groups, named, made short, tried on all problems, the same thing told once.

A group whose shortest example has the whole of a simpler hack in it adds nothing to that: it is told beside it, as `also`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from guerdon.audits.adversary.attack_report import Hack
from guerdon.audits.adversary.evolution import Archive, moved
from guerdon.audits.adversary.naming import RULES, Cluster, HackRule, clusters, lineage_name, rule_of
from guerdon.audits.adversary.rejection import as_read
from guerdon.audits.adversary.shrinking import shrunk
from guerdon.audits.adversary.traits import traits_of
from guerdon.audits.adversary.victim import Candidate, Shot, Victim

SHRUNK = 60  # calls to make one hack short
FREELY = 24  # the same, to see what one is that no rule describes
RULE_NAMES = frozenset(rule.name for rule in RULES)
UNNAMED = 16  # of those, how many are looked into


def described(victim: Victim, archive: Archive) -> list[Hack]:
    """The hacks, the most harmful first."""
    every = list(archive.traits)
    hacks = victim.hacks(every)
    known = {id(s) for s in hacks}
    unpaid = [s for s in every if id(s) not in known and not victim.likes(s)]
    named, rest = clusters(hacks, unpaid, archive.traits)
    named = _with_the_rest(victim, named, rest)
    named.sort(key=lambda c: -_harm(victim, c.shots))
    told = [_told(victim, cluster, len(named) - index) for index, cluster in enumerate(named)]
    return sorted(simplest(told), key=lambda hack: (-hack.harm, -hack.gain, hack.name))


def _with_the_rest(victim: Victim, named: Sequence[Cluster], rest: Sequence[Shot]) -> list[Cluster]:
    """What no rule described, one of each lineage made short and named by what is left of it."""
    lineages: dict[str, list[Shot]] = {}
    for shot in rest:
        lineages.setdefault(lineage_name(shot), []).append(shot)
    by_rule = {cluster.rule.name: cluster for cluster in named}
    many = sorted(lineages.values(), key=lambda shots: -len({s.group for s in shots}))[:UNNAMED]
    for shots in many:
        room = min(FREELY, victim.left // (2 * len(many)))
        short = _shortened(victim, None, min(shots, key=_length), room)
        traits = traits_of(short.text, victim.scenes[short.group])
        rule = rule_of(short, traits, [cluster.rule for cluster in named])
        was = by_rule.get(rule.name, Cluster(rule, (), 1.0))
        alike = [s for s in shots if was.rule.test(traits_of(s.text, victim.scenes[s.group]))]
        by_rule[rule.name] = replace(was, shots=(*was.shots, short, *alike))
    return list(by_rule.values())


def _told(victim: Victim, cluster: Cluster, to_come: int) -> Hack:
    share = victim.left // to_come  # what the others need is left to them
    first = min(cluster.shots, key=_length)
    example = _shortened(victim, cluster.rule, first, min(SHRUNK, share // 2))
    members = {(s.group, s.text): s for s in (*cluster.shots, example)}
    widest = max(cluster.shots, key=_length)
    until = victim.asked + share // 2
    for shot in dict.fromkeys((example, widest)):
        for group in sorted(victim.gold):
            copies = [] if group == shot.group else moved(shot, victim, group)
            for each in victim.hacks(victim.ask(copies[: max(0, until - victim.asked)])):
                if cluster.rule.test(traits_of(each.text, victim.scenes[group])):
                    members[group, each.text] = each
    shots = tuple(members.values())
    best = _best(victim, shots)
    return Hack(
        cluster.rule.name,
        len(best),
        len(victim.gold),
        median(best.values()),
        example.text,
        victim.posed[example.group].task.key,
        example.value,
        victim.gold[example.group],
        victim.low[example.group],
        cluster.rule.mend,
        _blind(victim, example, shots),
        len(shots),
        cluster.paid,
        " ".join([first.of.origin, *(f"+ {name}" for name, _ in first.of.steps)]),
    )


def simplest(hacks: Sequence[Hack]) -> list[Hack]:
    """Each hack once: one whose example holds all of another's, which works on as many problems with no more knowledge, is told
    beside that."""
    kept = list(hacks)
    for hack in sorted(hacks, key=lambda h: -len(h.example)):
        for other in sorted(kept, key=lambda h: len(h.example)):
            if other is not hack and hack in kept and _adds_nothing(hack, other):
                kept.remove(hack)
                names = [name for name in (*other.also, hack.name, *hack.also) if name in RULE_NAMES]
                kept[kept.index(other)] = replace(other, also=tuple(dict.fromkeys(names)))
                break
    return kept


def _adds_nothing(hack: Hack, to: Hack) -> bool:
    holds = len(to.example) < len(hack.example) and to.task == hack.task and _within(to.example, hack.example)
    anywhere = to.blind and len(to.example) < len(hack.example) and _within(to.example, hack.example)
    return (
        (holds or anywhere) and (to.blind or not hack.blind) and to.problems >= hack.problems and to.gain >= hack.gain
    )


def _within(short: str, long: str) -> bool:
    """Whether a text's characters stand in another in their order."""
    rest = iter(long)
    return all(c in rest for c in short)


def _shortened(victim: Victim, rule: HackRule | None, shot: Shot, most: int) -> Shot:
    """The shortest text on the way down from one, of the same kind where a rule says which, within so many calls."""
    until = victim.asked + most
    scene = victim.scenes[shot.group]

    def holds(texts: Sequence[str]) -> list[bool]:
        some = [t for t in texts if rule is None or rule.test(traits_of(t, scene))]
        spent = until - victim.asked < len(some)
        asked = victim.ask(
            [Candidate(shot.group, t, shot.of.origin, shot.of.steps) for t in some[: max(0, until - victim.asked)]]
        )
        good = {s.text for s in victim.hacks(asked)}
        return [t in good for t in texts][: len(texts) - (spent and not good)]

    return victim.shots[shot.group, shrunk(shot.text, holds)]


def _length(shot: Shot) -> tuple[int, int, str]:
    return len(shot.text), shot.group, shot.text


def _best(victim: Victim, shots: Sequence[Shot]) -> dict[int, float]:
    """Of each problem that fell the most that was gained."""
    gains: dict[int, float] = {}
    for s in shots:
        gains[s.group] = max(gains.get(s.group, 0.0), victim.gain(s))
    return gains


def _harm(victim: Victim, shots: Sequence[Shot]) -> float:
    best = _best(victim, shots)
    return len(best) / len(victim.gold) * median(best.values())


def _blind(victim: Victim, example: Shot, shots: Sequence[Shot]) -> bool:
    """Whether it takes no knowledge of the right answer: the example is without it, or one text does for half of them."""
    core = victim.scenes[example.group].core.casefold()
    if core not in as_read(example.text).casefold():
        return True
    often: dict[str, set[int]] = {}
    for s in shots:
        often.setdefault(s.text, set()).add(s.group)
    return max(map(len, often.values())) >= max(2, len(victim.gold) / 2)
