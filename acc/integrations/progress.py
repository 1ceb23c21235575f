"""What a step of the memory did, on LangGraph's custom stream: counts and ids, never text.

    for event in graph.stream(given, config, stream_mode="custom"):
        if event.get("memory") == "committed": ...

Each event is a plain dict with ``memory``, the stage, and ``turn``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from langgraph.config import get_stream_writer

from acc.policy import Policy
from acc.run import Step


def tell(step: Step, policy: Policy) -> None:
    """Send the step's events, where somebody listens; outside of a graph nothing happens."""
    try:
        write = get_stream_writer()
    except (RuntimeError, KeyError):  # called as a function, or in another runtime
        return
    for event in events(step, policy):
        write(event)


def events(step: Step, policy: Policy) -> Iterator[dict[str, Any]]:
    """The events of a step: recalled, admitted, committed, evicted, tokens."""
    turn = step.turn.number
    yield {"memory": "recalled", "turn": turn, "candidates": len(step.verdicts)}
    yield {"memory": "admitted", "turn": turn, "refs": [e.ref for e in step.evidence]}
    yield {
        "memory": "committed",
        "turn": turn,
        "version": step.state.version,
        "hash": step.state.hash,
        "outcome": step.outcome,
        "ms": round(sum(step.ms.values()), 3),
    }
    gone = [{"item": g.item.id, "reason": g.reason.value} for g in step.commit.set_aside]
    yield {"memory": "evicted", "turn": turn, "items": gone}
    yield {
        "memory": "tokens",
        "turn": turn,
        "state": step.commit.tokens,
        "bound": policy.max_tokens,
    }
