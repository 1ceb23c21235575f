"""Where ingested documents lie: in a thread for each scope, which recall reads beside the conversation's own messages.

A document that was ingested for nobody in particular is everybody's of the tenant; one for a user, an agent or both is
read in their threads alone.
"""

from __future__ import annotations

from dataclasses import replace

from acc.journal import Journal, ThreadKey
from acc.journal.names import MAIN, Head
from acc.state.tail import Message

THREAD = "acc:documents"
"""Name of such a thread."""


def home(tenant: str = "", user: str = "", agent: str = "") -> ThreadKey:
    """Return the thread of the documents of a scope."""
    return ThreadKey(THREAD, tenant, user, agent)


def is_home(key: ThreadKey) -> bool:
    """Whether a thread holds documents."""
    return key.thread == THREAD


def may_read(key: ThreadKey, home: ThreadKey) -> bool:
    """Whether a thread may read the documents of a home."""
    is_theirs = home.user in ("", key.user) and home.agent in ("", key.agent)
    return is_theirs and home.tenant == key.tenant and not is_home(key)


def homes_of(journal: Journal, key: ThreadKey) -> tuple[Head, ...]:
    """Return the heads of the threads whose documents a thread may read, those that exist."""
    return () if is_home(key) else journal.in_scope(THREAD, key)


def whole_of(ref: str) -> str:
    """Return the ref of the document that a part's ref belongs to."""
    return ref.rpartition(".")[0]


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
