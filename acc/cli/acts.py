"""The operator's acts on a thread: ``acc retire`` and ``hold``."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from acc.cli import options
from acc.cli.opening import last_policy, looking, opened, reading, thread_named
from acc.cli.options import argument, flag, option
from acc.cli.output import print_table, tell
from acc.errors import InputError
from acc.evidence.base import plain
from acc.evidence.evidence import Evidence
from acc.journal import ThreadKey
from acc.text.lines import inert_line


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
