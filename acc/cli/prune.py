"""``acc prune``: deletes evidence by a policy, which is written as NAME,key=value,..."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Any

from acc.cli import options
from acc.cli.opening import opened
from acc.cli.options import option
from acc.cli.output import Summary, carry_out, count
from acc.errors import InputError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence
from acc.evidence.policies import Age, Capacity, Combined, Deletion, History, Period
from acc.evidence.retention import ExpiryPlan, PrunePlan

_POLICIES: Mapping[str, tuple[str, ...]] = {
    "period": ("period", "alpha"), "history": ("n", "beta"),
    "combined": ("period", "alpha", "n", "beta"), "intersection": ("period", "alpha", "n", "beta"),
    "capacity": ("limit",), "age": ("days",), "idle": ("days",),
}  # fmt: skip
"""The policies, and what each takes; ``limit`` and ``days`` have to be given."""

_NUMBERS = {"period": int, "alpha": int, "n": int, "limit": int, "beta": float, "days": float}


def prune(
    policy: Annotated[str, option("POLICY", "What to delete: period (rarely recalled lately), history (recalled "
        "often and not useful), combined (either), intersection (both), capacity,limit=N (the least useful beyond "
        "N), age,days=N, or idle,days=N (whole threads). Numbers follow, as in period,period=200,alpha=0 and "
        "history,n=5,beta=0.5; also kind=messages instead of documents.")],
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    scope: options.FilterOption = None,
    yes: options.YesOption = False,
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Delete evidence that is rarely read or not useful.

    Prints the plan and asks before it deletes. What a state cites, or acc hold protects, stays.
    """
    with opened(memory) as controller:
        plan = planned(Evidence(controller), policy, options.named(scope))

        def act() -> Summary:
            done = plan.apply()
            told = f"deleted: {count(done.messages, 'message')}, {count(done.threads, 'thread')}"
            return Summary([told, *done.warnings], plain(done))

        carry_out(Summary(_lines(plan), plain(plan)), act, yes=yes, as_json=json)


def _lines(plan: PrunePlan | ExpiryPlan) -> Sequence[str]:
    """Return the plan of a pruning or of an expiry in words."""
    if isinstance(plan, PrunePlan):
        lines = [f"  delete {d.kind} {d.thread} {d.ref}: {d.why}" for d in plan.doomed]
        lines += [f"  keep {d.kind} {d.thread} {d.ref}: {d.why}" for d in plan.kept]
        kept = f"{len(plan.kept)} are kept although the policy would delete them"
        return [*lines, f"to delete: {len(plan.doomed)} of {plan.judged:,}; {kept}"]
    lines = [f"  delete thread {key}: last commit {at}" for key, at in plan.threads.items()]
    lines += [f"  keep thread {held.thread}: {held.reason}" for held in plan.held]
    return [*lines, f"to delete: {count(len(plan.threads), 'thread')}; {len(plan.held)} are held"]


def planned(evidence: Evidence, text: str, scope: options.Scope) -> PrunePlan | ExpiryPlan:
    """Return the plan of a policy; nothing is deleted.

    Raises:
        InputError: There is no such policy, or a number is missing or malformed.
    """
    name, given = _parsed(text)
    kind: Any = given.pop("kind", "documents")
    if "days" in given:
        age = timedelta(days=given["days"])
        if name == "idle":
            return evidence.plan_expiry(age, **scope)
        return evidence.plan_prune(Age(age), kinds=(kind,), **scope)
    if name == "capacity":
        return evidence.plan_prune(Capacity(given["limit"]), kinds=(kind,), **scope)
    period = Period(**{k: v for k, v in given.items() if k in ("period", "alpha")})
    useful = History(**{k: v for k, v in given.items() if k in ("n", "beta")})
    rule: Any = "union" if name == "combined" else "intersection"
    single: dict[str, Deletion] = {"period": period, "history": useful}
    policy = single.get(name, Combined(period, useful, rule))
    return evidence.plan_prune(policy, kinds=(kind,), **scope)


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    name, *parts = text.split(",")
    given: dict[str, Any] = {
        key: value for key, _, value in (part.partition("=") for part in parts)
    }
    takes = _POLICIES.get(name, ())
    needed = {"limit", "days"} & set(takes)
    if not takes or given.keys() - {*takes, "kind"} or needed - given.keys():
        hint = f"{name},{takes[0]}=N" if takes else f"choose {', '.join(_POLICIES)}"
        raise InputError(f"{text!r} is no policy", where="--policy", hint=hint)
    for key in given.keys() & _NUMBERS.keys():
        try:
            given[key] = _NUMBERS[key](given[key])
        except ValueError as error:
            what = f"{key} is {given[key]!r}"
            raise InputError(what, where="--policy", hint=f"give a number: {key}=N") from error
    return name, given
