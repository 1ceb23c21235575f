"""``acc prune`` and ``acc hold``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple, cast

from acc.cli.evidence import Names, Server, kept, space_of
from acc.cli.screen import table, told_json
from acc.evidence.deletion import Capacity, Deletion
from acc.evidence.holds import hold as put_hold
from acc.evidence.holds import holds, release
from acc.evidence.keeping import retention
from acc.evidence.presets import DeletionName, preset
from acc.evidence.retention_plan import DEFAULT_KINDS, Plan, PrunedKind
from acc.evidence.shelf import Shelf


class Numbers(NamedTuple):
    """What is given in place of a preset's numbers."""

    period: int | None = None
    alpha: int | None = None
    n: int | None = None
    beta: float | None = None
    capacity: int | None = None


def chosen_policy(name: str, like: str, numbers: Numbers) -> Deletion:
    """The policy of that name, with a preset's numbers where none are given.

    Raises:
        ConfigurationError: No such policy or preset.
    """
    found = preset(like)
    period = replace(
        found.period,
        period=found.period.period if numbers.period is None else numbers.period,
        alpha=found.period.alpha if numbers.alpha is None else numbers.alpha,
    )
    history = replace(
        found.history["strict"],
        n=found.history["strict"].n if numbers.n is None else numbers.n,
        beta=found.history["strict"].beta if numbers.beta is None else numbers.beta,
    )
    given = found._replace(period=period, history={"strict": history, "coarse": history})
    policy = given.deletion(cast(DeletionName, name))
    return policy if numbers.capacity is None else policy.then(Capacity(numbers.capacity))


def prune(
    memory: Path,
    names: Names,
    policy: Deletion,
    kinds: Sequence[str],
    *,
    dry_run: bool = False,
    server: Server = None,
    as_json: bool = False,
) -> None:
    """Delete what ``policy`` says, or only tell it."""
    with kept(memory, server) as controller:
        keeper = retention(controller)
        wanted = cast(Sequence[PrunedKind], kinds) or DEFAULT_KINDS
        plan = keeper.plan(space_of(names), policy, wanted)
        gone = 0 if dry_run else keeper.prune(plan)
    if as_json:
        told_json({
            "t": plan.t, "looked_at": plan.looked_at, "deleted_records": gone,
            "readings": plan.readings, "doomed": [asdict(d) for d in plan.doomed],
            "protected": [asdict(d) for d in plan.protected],
        })  # fmt: skip
        return
    _tell(plan, dry_run=dry_run)


def _tell(plan: Plan, *, dry_run: bool) -> None:
    rows = [("goes" if dry_run else "gone", d.kind, d.thread, d.ref, d.why) for d in plan.doomed]
    rows += [("stays", d.kind, d.thread, d.ref, d.why) for d in plan.protected]
    if rows:
        table(("", "kind", "thread", "ref", "why"), rows, folds=("why",))
    said = "would go" if dry_run else "went"
    readings = "".join(f"; the {name} takes {count}" for name, count in plan.readings.items())
    print(
        f"{len(plan.doomed)} of {plan.looked_at} {said}, "
        f"{len(plan.protected)} stay though the policy would delete them{readings}"
    )


def hold(
    ref: str,
    thread: str,
    memory: Path,
    names: Names,
    *,
    reason: str,
    lift: bool = False,
    server: Server = None,
    as_json: bool = False,
) -> None:
    """Hold evidence, lift a hold, or list what is held."""
    space = space_of(names)
    owner = space.model_copy(update={"thread": thread})
    with kept(memory, server) as controller:
        usage = Shelf(controller.artifacts, space, "usage")
        if (ref or thread) and lift:
            release(usage, owner, ref, controller.now())
        elif ref or thread:
            put_hold(usage, owner, ref, reason, controller.now())
        held = holds(usage.records()).reasons
    if as_json:
        told_json(held)
    else:
        table(("held", "why"), sorted(held.items()), folds=("why",))
