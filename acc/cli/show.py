"""``acc show`` and ``acc threads``: what a memory holds, without opening its store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from acc.cli.opening import policy_of
from acc.cli.screen import table, told_json
from acc.cli.threads import LoggedThread, logged_thread, logged_threads
from acc.errors import AuditError, InputError
from acc.policy import Policy
from acc.state import CompressedCognitiveState

State = CompressedCognitiveState

DEFAULT = ("default", "default", "default")
"""User, agent and tenant of a thread that was given by its name alone."""


def show(
    memory: Path,
    thread: str | None,
    turn: int | None,
    *,
    schema: type[State] | None = None,
    style: str | None = None,
    provenance: bool = False,
    as_json: bool = False,
) -> None:
    """Tell the state of a thread, at the end or after a turn."""
    logged = logged_thread(memory, thread)
    policy = policy_of(logged.last, schema=schema, style=style)
    state = state_after(logged, policy, turn)
    rendered = policy.rendered(state)
    tokens = policy.counter(rendered)
    if as_json:
        told_json({
            "thread": logged.thread.model_dump(), "turn": state.turn, "tokens": tokens,
            "rendered": rendered, "state": state.canonical(),
        })  # fmt: skip
        return
    bound = f"{tokens:,} of at most {policy.max_tokens:,} tokens"
    print(f"thread {logged.thread.thread!r}, turn {state.turn:,}: {bound}\n")
    if provenance:
        _provenance(state)
    else:
        print(rendered)


def threads(memory: Path, *, as_json: bool = False) -> None:
    """Tell the threads of a memory.

    Raises:
        AuditError: Logs cannot be read; the other threads were told.
    """
    damaged: list[AuditError] = []
    found = logged_threads(memory, damaged)
    _tell_threads(found, as_json=as_json)
    if damaged:
        raise damaged[0]


def _tell_threads(found: Sequence[LoggedThread], *, as_json: bool) -> None:
    if as_json:
        told_json([
            {**each.thread.model_dump(), "turns": each.last["state"]["turn"],
             "tokens": each.last["tokens"], "at": each.last["at"], "log": str(each.log.path)}
            for each in found
        ])  # fmt: skip
        return
    rows: list[list[str]] = [
        [each.thread.thread, f"{each.last['state']['turn']:,}", f"{each.last['tokens']:,}",
         each.last["at"], each.log.path.stem]
        for each in found
    ]  # fmt: skip
    headings = ["thread", "turns", "tokens", "last commit", "log"]
    owners = [(each.thread.user, each.thread.agent, each.thread.tenant) for each in found]
    if set(owners) - {DEFAULT}:
        headings += ["user", "agent", "tenant"]
        rows = [[*row, *owner] for row, owner in zip(rows, owners, strict=True)]
    table(headings, rows, folds=("thread", "log"))


def state_after(logged: LoggedThread, policy: Policy, turn: int | None) -> State:
    """The state that the newest one descends from, as it was after ``turn``; the newest if None.

    Raises:
        InputError: The thread has no such turn.
    """
    newest = logged.last["state"]
    if turn is None or turn == newest["turn"]:
        return policy.schema.load(newest)
    for record in logged.back():
        if record["state"]["turn"] == turn:
            return policy.schema.load(record["state"])
        if turn == 0 and record["state"]["turn"] == 1 and "prior_state" in record:
            return policy.schema.load(record["prior_state"])
    raise InputError(
        f"no turn {turn}",
        where=f"thread {logged.thread.thread!r}",
        mend=f"name one of 1 to {newest['turn']}",
    )


def _provenance(state: State) -> None:
    rows = [
        (item.id, slot.name, item.words, item.trust.word + (", endorsed" if item.endorsed else ""),
         " ".join(item.sources), str(item.turn))
        for slot, item in state.items()
    ]  # fmt: skip
    table(("id", "slot", "text", "trust", "sources", "turn"), rows, folds=("text", "sources"))
