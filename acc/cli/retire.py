"""``acc retire``: the operator takes rules, goals or other items out of a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from acc.cli.interrupts import Interrupts
from acc.cli.opening import opened, policy_of
from acc.cli.screen import told_json
from acc.cli.threads import logged_thread
from acc.controller import retirement
from acc.errors import ConfigurationError, InputError
from acc.policy import Policy
from acc.run import Step
from acc.state import CompressedCognitiveState
from acc.store import Thread


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
    """Retire items of a thread's newest state, as a turn of the operator's.

    Raises:
        InputError: No item of that id.
        ConfigurationError: Commit did not retire it; says why.
    """
    logged = logged_thread(memory, thread)
    policy = policy_of(logged.last, schema=schema)
    state = policy.schema.load(logged.last["state"])
    said = _said(state, ids)
    turn, proposal = retirement(state, list(said), reason)
    with opened(memory, policy, server=server, compressor=lambda *_: proposal) as controller:
        # Read again now that nobody else can write.
        newest = controller.last_state(logged.thread)
        if newest is None or newest.hash != state.hash:
            where = f"thread {logged.thread.thread!r}"
            raise InputError("it went on meanwhile", where=where, mend="run the same again")
        with Interrupts():
            step = controller.step(state, turn, thread=logged.thread)
    if left := [item_id for item_id in said if step.state.find(item_id)]:
        notes = "; ".join(str(n) for n in step.commit.refused) or step.failure
        raise ConfigurationError(f"not retired: {notes}", where=", ".join(left))
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


def _said(state: CompressedCognitiveState, ids: Sequence[str]) -> dict[str, str]:
    found = {item_id: state.find(item_id) for item_id in ids}
    if unknown := [item_id for item_id, item in found.items() if item is None]:
        pinned = [i.id for slot, i in state.items() if slot.rules.pinned and i.is_open]
        raise InputError(
            f"no item {', '.join(map(repr, unknown))}",
            where=f"the state after turn {state.turn}",
            mend=f"name one of its rules and goals: {', '.join(pinned) or 'there are none'}",
        )
    return {item_id: item[1].words for item_id, item in found.items() if item is not None}
