"""``acc retire``, ``hold`` and ``prune``: the operator says what ends, what stays and what is deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Any, Literal, get_args

from acc.cli import options
from acc.cli.opening import last_policy, looking, opened, reading, thread_named
from acc.cli.options import argument, flag, option
from acc.cli.output import Summary, carry_out, print_table, tell
from acc.errors import InputError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence
from acc.evidence.policies import Age, Capacity, Combined, History, Period
from acc.evidence.retention import ExpiryPlan, PrunePlan
from acc.journal import ThreadKey
from acc.text.lines import count, inert_line

Kind = Literal["documents", "messages"]

_PERIOD, _HISTORY = {"period": int, "alpha": int}, {"n": int, "beta": float}
_POLICIES: Mapping[str, Mapping[str, type]] = {
    "period": _PERIOD, "history": _HISTORY, "combined": _PERIOD | _HISTORY,
    "intersection": _PERIOD | _HISTORY, "capacity": {"limit": int}, "age": {"days": float},
    "idle": {"days": float},
}  # fmt: skip
"""The policies, and the numbers that each takes."""

_NEEDED = {"limit", "days"}


def retire(
    ids: Annotated[list[str], argument("ID", "Items, such as c3. See acc show --provenance.")],
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: options.ThreadOption = None,
    reason: Annotated[str, option("TEXT", "Why. The journal keeps it.")] = "",
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """End rules, goals or other items of a state.

    On every branch of the thread. The messages stay in the memory, and the journal says what ended and why.
    """
    with reading(memory) as journal:
        place = thread_named(journal, thread)
        policy = last_policy(journal, place)
    with opened(memory, policy=policy, index="none") as controller:
        before = controller.last_state(place.thread, branch=place.branch)
        step = controller.retire(ids, reason, thread=place.thread, state=before)
    words = {i: found[1].text_of for i in ids if before and (found := before.find(i))}
    lines = [inert_line(f"retired {item}: {text}") for item, text in words.items()]
    lines.append(f"{place.label} goes on with version {step.state.version:,}")
    value = {"thread": asdict(place.thread), "branch": place.branch, "version": step.state.version}
    value["retired"] = [{"id": item, "text": text} for item, text in words.items()]
    tell("\n".join(lines), value, as_json=json)


def hold(
    ref: Annotated[str, argument("REF", "A message or a document. [default: the whole thread]")] = "",
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    thread: options.ThreadOption = None,
    reason: Annotated[str, option("TEXT", "Who asks for the hold, and why. Required.")] = "",
    release: Annotated[bool, flag("--release", "Release the hold instead of setting it.")] = False,
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Protect evidence from deletion, or list what is protected.

    Without REF and --thread, this lists the holds.
    """
    is_named = bool(ref or thread)
    if release and not is_named:
        what = "nothing is named to release"
        raise InputError(what, where="--release", hint="name REF or --thread")
    with opened(memory, index="none") if is_named else looking(memory) as controller:
        evidence = Evidence(controller)
        if is_named:
            key = _holder(evidence, ref) or thread_named(controller.journal, thread).thread
            evidence.release(key, ref) if release else evidence.hold(key, ref, reason=reason)
        holds = evidence.held()
    if json or not holds:
        tell("no holds", [plain(each) for each in holds], as_json=json)
        return
    rows = [(str(h.thread), h.ref or "(all)", h.reason, h.at) for h in holds]
    print_table(("thread", "ref", "reason", "since"), rows, wrap=("reason",))


def _holder(evidence: Evidence, ref: str) -> ThreadKey | None:
    """Return the thread of a document that ``ref`` names; None if it names none, or several."""
    found = [each.thread for each in evidence.documents() if each.ref == ref]
    return found[0] if len(found) == 1 else None


def prune(
    policy: Annotated[str, option("POLICY", "What to delete: period (rarely recalled lately), history (recalled "
        "often and not useful), combined (either), intersection (both), capacity,limit=N (the least useful beyond "
        "N), age,days=N, or idle,days=N (whole threads). Numbers follow, as in period,period=200,alpha=0 or "
        "history,n=5,beta=0.5; also kind=messages instead of documents.")],
    memory: options.MemoryOption = options.DEFAULT_MEMORY,
    scope: options.FilterOption = None,
    yes: options.YesOption = False,
    json: options.JsonOption = False,
) -> None:  # fmt: skip
    """Delete evidence that is rarely read or not useful.

    Prints the plan and asks before it deletes. What a state cites, or acc hold protects, stays.
    """
    name, kind, numbers = _parsed(policy)
    with opened(memory) as controller:
        evidence, where = Evidence(controller), options.named(scope)
        plan: PrunePlan | ExpiryPlan
        if name == "idle":
            plan = evidence.plan_expiry(timedelta(days=numbers["days"]), **where)
        else:
            plan = evidence.plan_prune(_deletion(name, numbers), kind=kind, **where)

        def act() -> Summary:
            done = plan.apply()
            told = f"deleted: {count(done.messages, 'message')}, {count(done.threads, 'thread')}"
            return Summary([told, *done.warnings], plain(done))

        carry_out(Summary(_lines(plan), plain(plan)), act, yes=yes, as_json=json)


def _parsed(text: str) -> tuple[str, Kind, dict[str, Any]]:
    """Return name, kind of evidence and numbers of a policy; raise `InputError` if it is none."""
    name, *parts = text.split(",")
    given: dict[str, Any] = dict(part.split("=", 1) for part in parts if "=" in part)
    kind, takes = given.pop("kind", "documents"), _POLICIES.get(name, {})
    is_known = kind in get_args(Kind) and given.keys() <= takes.keys()
    if not takes or not is_known or (_NEEDED & takes.keys()) - given.keys():
        hint = f"{name},{next(iter(takes))}=N" if takes else f"choose {', '.join(_POLICIES)}"
        raise InputError(f"{text!r} is no policy", where="--policy", hint=hint)
    for key, value in given.items():
        try:
            given[key] = takes[key](value)
        except ValueError as error:
            what, hint = f"{key} is {value!r}", f"give a number: {key}=N"
            raise InputError(what, where="--policy", hint=hint) from error
    return name, kind, given


def _deletion(name: str, numbers: Mapping[str, Any]) -> Any:
    """Return a policy by its name (`acc.evidence.policies`)."""
    match name:
        case "age":
            return Age(timedelta(days=numbers["days"]))
        case "capacity":
            return Capacity(numbers["limit"])
    period = Period(**{key: value for key, value in numbers.items() if key in _PERIOD})
    history = History(**{key: value for key, value in numbers.items() if key in _HISTORY})
    match name:
        case "period":
            return period
        case "history":
            return history
        case "intersection":
            return Combined(period, history, "intersection")
    return Combined(period, history, "union")


def _lines(plan: PrunePlan | ExpiryPlan) -> Sequence[str]:
    """Return the plan of a pruning or of an expiry in words."""
    if isinstance(plan, PrunePlan):
        lines = [f"  delete {d.ref} of {d.thread}: {d.why}" for d in plan.doomed]
        lines += [f"  keep {d.ref} of {d.thread}: {d.why}" for d in plan.kept]
        kept = f"{len(plan.kept)} are kept although the policy would delete them"
        return [*lines, f"to delete: {len(plan.doomed)} of {plan.judged:,}; {kept}"]
    lines = [f"  delete thread {key}: last commit {at}" for key, at in plan.threads.items()]
    lines += [f"  keep thread {held.thread}: {held.reason}" for held in plan.held]
    return [*lines, f"to delete: {count(len(plan.threads), 'thread')}; {len(plan.held)} are held"]
