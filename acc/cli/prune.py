"""``acc prune`` and ``acc hold``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

from acc.cli.acts import Told, Way, carry_out
from acc.cli.evidence import Names, Server, kept, space_of
from acc.cli.opening import Interrupts, opened, policy_of
from acc.cli.screen import table, told_json
from acc.cli.threads import logged_thread
from acc.errors import InputError
from acc.evidence.deletion import Capacity, Deletion, DeletionName, History, Period, preset
from acc.evidence.references import hold as put_hold
from acc.evidence.references import release
from acc.evidence.retention import DEFAULT_KINDS, Plan, PrunedKind, Retention
from acc.evidence.usage import holds
from acc.pipeline.turn_pipeline import Step
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.stores.protocol import Thread
from acc.stores.shelf import Shelf


class Numbers(NamedTuple):
    """Numbers that replace those of a preset; None keeps the preset's number."""

    period: int | None = None
    alpha: int | None = None
    n: int | None = None
    beta: float | None = None
    capacity: int | None = None


class Chosen(NamedTuple):
    """A policy, and a description of what it deletes."""

    policy: Deletion
    meaning: str


_UNNAMED = (
    "name one: --policy period (what was hardly read lately: --period, --alpha), history (what was of "
    "little use: --n, --beta), combined (either) or intersection (both); or keep a number: --capacity; "
    "--dry-run tells what would go"
)


def chosen_policy(name: str, like: str, numbers: Numbers) -> Chosen:
    """The policy named ``name``; the preset ``like`` supplies missing numbers.

    Raises:
        InputError: Neither a policy nor a capacity is named. A default must not delete evidence.
        ConfigurationError: There is no such policy or preset.
    """
    if not name and numbers.capacity is None:
        raise InputError("no policy is named", where="acc prune", hint=_UNNAMED)
    found = preset(like)
    period, history = found.period, found.history["strict"]
    period = replace(
        period,
        period=period.period if numbers.period is None else numbers.period,
        alpha=period.alpha if numbers.alpha is None else numbers.alpha,
    )
    history = replace(
        history,
        n=history.n if numbers.n is None else numbers.n,
        beta=history.beta if numbers.beta is None else numbers.beta,
    )
    given = found._replace(period=period, history={"strict": history, "coarse": history})
    policy = given.deletion(cast(DeletionName, name or "none"))
    meaning = _meaning(name, period, history)
    if name and None in numbers[:4]:
        meaning += f" (numbers that were not given are those of {like})"
    if numbers.capacity is not None:
        policy = policy.then(Capacity(numbers.capacity))
        kept = f"the least useful beyond {numbers.capacity} of those that stay"
        meaning = f"{meaning}; then {kept}" if meaning else kept
    return Chosen(policy, meaning)


def _meaning(name: str, period: Period, history: History) -> str:
    hardly = f"what was read at most {period.alpha} times in the last {period.period} commits"
    useless = (
        f"what was read over {history.n} times with a mean utility of at most {history.beta:g}"
    )
    meanings = {
        "period": hardly, "history": useless, "combined": f"{hardly}, or {useless}",
        "intersection": f"{hardly}, and {useless}",
    }  # fmt: skip
    return meanings.get(name, "")


def prune(
    memory: Path,
    names: Names,
    chosen: Chosen,
    kinds: Sequence[str],
    *,
    way: Way,
    server: Server = None,
) -> None:
    """Delete the evidence that a policy selects, after the user saw the plan and confirmed it."""
    wanted = cast(Sequence[PrunedKind], kinds) or DEFAULT_KINDS
    judged = f"policy: delete {chosen.meaning}; of {', '.join(wanted)}"
    with kept(memory, server, reads=way.dry_run) as controller:
        keeper = Retention(controller)
        plan = keeper.plan(space_of(names), chosen.policy, wanted)

        def act() -> Told:
            gone = keeper.prune(plan)
            stays = len(plan.ids) - gone
            said = f"{gone} records of evidence are deleted"
            if stays:
                said += f", {stays} stay: something has come to need them meanwhile"
            return Told([said], _value(plan, chosen.meaning, gone))

        told = Told([judged, *_lines(plan)], _value(plan, chosen.meaning, 0))
        carry_out(way if plan.ids else way._replace(dry_run=True), told, act)


def _value(plan: Plan, meaning: str, gone: int) -> dict[str, Any]:
    return {
        "policy": meaning, "t": plan.t, "looked_at": plan.looked_at, "records": len(plan.ids),
        "deleted_records": gone, "readings": plan.readings,
        "doomed": [asdict(d) for d in plan.doomed], "protected": [asdict(d) for d in plan.protected],
    }  # fmt: skip


def _lines(plan: Plan) -> list[str]:
    lines = [f"  {verb}: {' '.join(filter(None, (d.kind, d.thread, d.ref)))}: {d.why}"
             for verb, found in (("goes", plan.doomed), ("stays", plan.protected))
             for d in found]  # fmt: skip
    readings = "".join(f"; the {name} takes {count}" for name, count in plan.readings.items())
    lines.append(
        f"{len(plan.doomed)} of {plan.looked_at} go, with {len(plan.ids)} records, "
        f"{len(plan.protected)} stay though the policy would delete them{readings}"
    )
    return lines


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
    """Put evidence on hold, release a hold, or list the holds.

    Raises:
        InputError: There is nothing of that name, no reason, or no hold to release.
    """
    if lift and not (ref or thread):
        raise InputError(
            "nothing is named to release", where="--release", hint="name the ref, or its --thread"
        )
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


def retire(
    ids: Sequence[str],
    memory: Path,
    thread: str | None,
    *,
    reason: str = "",
    server: tuple[str, int] | None = None,
    schema: type[CompressedCognitiveState] | None = None,
    as_json: bool = False,
) -> None:
    """Retire items of a thread's newest state (`acc.controller.MemoryController.retire`).

    Raises:
        InputError: The state has no item with such an id.
    """
    logged = logged_thread(memory, thread)
    policy = policy_of(logged.last, schema=schema)
    with opened(memory, policy, server=server) as controller, Interrupts():
        step = controller.retire(ids, reason, thread=logged.thread)
    said = {gone.item.id: gone.item.words for gone in step.commit.set_aside if gone.item.id in ids}
    if as_json:
        told_json({
            "thread": logged.thread.model_dump(), "turn": step.state.turn,
            "tokens": step.commit.tokens,
            "retired": [{"id": item_id, "said": said[item_id]} for item_id in said],
        })  # fmt: skip
    else:
        _tell(logged.thread, said, step, policy)


def _tell(thread: Thread, said: Mapping[str, str], step: Step, policy: Policy) -> None:
    for item_id, words in said.items():
        print(f"retired {item_id}: {words}")
    bound = f"{step.commit.tokens:,} of at most {policy.max_tokens:,} tokens"
    print(f"thread {thread.thread!r}, turn {step.state.turn:,}: {bound}")
