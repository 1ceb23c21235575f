"""What tools and documents said before, in the words of the agent: nobody can agree to it (law 6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from acc.commit.sources import said_before
from acc.controller.indexing import document
from acc.controller.settings import Parts
from acc.journal import Head
from acc.turn.observations import Evidence, Trust, is_ingested


def heard_before(
    parts: Parts[Any], head: Head, offers: Sequence[str], texts: Sequence[str]
) -> list[Evidence]:
    """Return what tools said up to a head, and documents that may be read, of what the agent says.

    Recall proposes the messages. They are compared whole.

    Args:
        parts: The memory.
        head: Up to where.
        offers: What the user is said to agree to.
        texts: The agent's messages.
    """
    thread, branch = head.thread, head.branch
    asked = dict.fromkeys((*offers, *texts))
    found = (each.evidence for question in asked for each in parts.index.recall(head, question))
    refs = list(dict.fromkeys(each.ref for each in found if each.trust < Trust.AGENT))
    own = parts.journal.texts(thread, refs, branch=branch) if refs else ()
    documents = (document(parts.journal, thread, ref) for ref in refs if is_ingested(ref))
    return said_before(texts, (*own, *filter(None, documents)))
