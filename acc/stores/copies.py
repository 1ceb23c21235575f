"""Evidence that was copied from an agent's thread to a shared board (`acc.board`), and how the copy names it."""

from __future__ import annotations

from acc.stores.protocol import Thread

BOARD = "board"
"""The agent's name in the `Thread` of every board."""


def copy_mark(thread: Thread, ref: str) -> str:
    """Return `Artifact.message` of a copy of ``ref``: the evidence's key, then the agent and thread for people."""
    return f"{thread.key}:{ref} {thread.agent}/{thread.thread}"


def copied_from(message: str) -> str:
    """Return the key of the evidence (`acc.evidence.usage.evidence_key`) that a copy was made of."""
    return message.partition(" ")[0]
