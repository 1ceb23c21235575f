"""The texts behind refs: what a gate admitted, what was said before in the agent's words, and documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from acc.commit.sources import said_before
from acc.controller.indexing import Indexing, homes_of
from acc.gate import Verdict, admitted_again
from acc.journal import Head, Journal, ThreadKey
from acc.journal.names import MAIN, whole_of
from acc.state.tail import Message
from acc.turn.observations import Evidence, Trust, is_ingested


def document(journal: Journal, key: ThreadKey, ref: str) -> Message | None:
    """Return the part of a document that a thread may read, or the whole document if ``ref`` names no part."""
    for head in homes_of(journal, key):
        found = journal.texts(head.thread, [ref], branch=MAIN)
        parts = found or tuple(
            each.message for each in journal.messages(head.thread)
            if each.digest and whole_of(each.message.ref) == ref
        )  # fmt: skip
        if parts:
            text = "".join(part.text for part in parts)
            seen = parts[0].observation.model_copy(update={"text": text, "ref": ref})
            return replace(parts[0], observation=seen)
    return None


def _texts_of(
    journal: Journal, key: ThreadKey, refs: Sequence[str], branch: str
) -> tuple[Message, ...]:
    """Return messages that a branch sees, and parts of documents that its thread may read."""
    own = journal.texts(key, refs, branch=branch) if refs else ()
    documents = (document(journal, key, ref) for ref in refs if is_ingested(ref))
    return (*own, *filter(None, documents))


def evidence_of(
    journal: Journal, key: ThreadKey, branch: str, asked: Sequence[Sequence[Verdict]]
) -> list[tuple[Evidence, ...]]:
    """Return what the gate admitted for each question, as far as its messages are there still."""
    every = (each for verdicts in asked for each in verdicts)
    refs = list(dict.fromkeys(each.ref for each in every if each.reason == "admitted"))
    messages = sorted(_texts_of(journal, key, refs, branch), key=lambda message: message.turn)
    return [admitted_again(messages, verdicts) for verdicts in asked]


def heard_before(
    journal: Journal, index: Indexing, head: Head, offers: Sequence[str], texts: Sequence[str]
) -> list[Evidence]:
    """Return what tools said up to a head, and documents that may be read, of what the agent says.

    Recall proposes the messages. They are compared whole.

    Args:
        journal: The memory's journal.
        index: Its artifacts.
        head: Up to where.
        offers: What the user is said to agree to.
        texts: The agent's messages.
    """
    thread, branch = head.thread, head.branch
    asked = dict.fromkeys((*offers, *texts))
    found = (each.evidence for question in asked for each in index.recall(head, question))
    refs = list(dict.fromkeys(each.ref for each in found if each.trust < Trust.AGENT))
    return said_before(texts, _texts_of(journal, thread, refs, branch))
