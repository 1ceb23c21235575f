"""``acc retire``: the operator takes rules, goals or other items out of a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from acc.cli.interrupts import Interrupts
from acc.cli.opening import opened, policy_of
from acc.cli.screen import told_json
from acc.cli.threads import logged_thread
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
    """Retire items of a thread's newest state (`acc.controller.MemoryController.retire`).

    Raises:
        InputError: No item of that id.
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
