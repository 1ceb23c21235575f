"""The tool that stores: a text becomes a turn, and the answer says in a few lines what became of it.

A model reads the answers. Foreign text stands in quotation marks on one line, so that no text can pose as another
entry, label or ref.
"""

from __future__ import annotations

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from acc.controller.controller import MemoryController
from acc.controller.turning import clean_turn
from acc.errors import InputError
from acc.journal import ThreadKey
from acc.logs import log_event
from acc.mcp_server.serving import Serving
from acc.state.model import CompressedCognitiveState
from acc.state.reasons import Note, Reason
from acc.state.render import render
from acc.step import Step
from acc.text.lines import inert, inert_line
from acc.turn.observations import THROUGH_A_CLIENT, Channel, Observation
from acc.turn.turn import Turn

MOST_NOTES = 12
"""Maximum number of changes that an answer lists."""

LONGEST_NOTE = 200
"""Maximum characters of one of these."""

_KEPT = (Reason.ADDED, Reason.UPDATED)
_LAST = frozenset({*_KEPT, Reason.KNOWN, Reason.LATER, Reason.RESTORED, Reason.DONE})
"""Reasons that are told after refusals and what left."""

_NAMES = {
    Channel.USER: "", Channel.AGENT: THROUGH_A_CLIENT, Channel.TOOL: "mcp", Channel.DOCUMENT: "mcp",
}  # fmt: skip
"""Names of a client's messages. What an agent stores through one client is no sentence that the user of another client
has read: a "yes" that follows it agrees to nothing."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Remembering:
    """Stores what a client says, in the threads of one owner."""

    memory: MemoryController[Any]
    serving: Serving

    def remember(self, text: str, thread: str, message_id: str = "") -> str:
        """Store ``text`` as the next turn of a thread, and say what became of it.

        A repeat with the same ``message_id`` changes nothing.

        Raises:
            InputError: There is no text, or another text came with that id.
            ConflictError: Another process steps the thread; call again when it is done.
        """
        who = self.serving.whose(thread)
        if not text.strip():
            raise InputError("there is no text", where="remember", hint="give the text to store")
        turn = clean_turn(self.memory.parts, self._turn(text, message_id), "remember")
        if known := self._known(who, turn, message_id):
            return f"{known} under this message_id: nothing changed"
        waiting = {message.ref for message in self.memory.journal.waiting(who)}
        step = self.memory.step(None, turn, thread=who)
        if step.warnings:
            log_event(
                _LOG, logging.WARNING, "warned", "a stored turn has warnings",
                thread=thread, turn=step.state.turn, count=len(step.warnings),
            )  # fmt: skip
        return "\n".join(_became(step, waiting, self.memory.cadence.compress_over))

    def _turn(self, text: str, message_id: str) -> Turn:
        channel = self.serving.speaks_for
        said = Observation(channel=channel, text=text, name=_NAMES[channel], message=message_id)
        return Turn(observations=(said,))

    def _known(self, who: ThreadKey, turn: Turn, message_id: str) -> str:
        """Say which committed turn has this message; empty if none has."""
        if not message_id:
            return ""
        found = self.memory.journal.with_message_id(who, message_id)
        stored = [each.message for each in found if each.version]
        missing = {o.identity for o in turn.observations} - {m.observation.identity for m in stored}
        if not missing:
            return f"already stored in turn {stored[0].turn}"
        if any(each.message_id == message_id for each in self.memory.journal.tombstones(who)):
            return "erased after it was stored"
        if stored:
            what = "another text was stored under this message_id"
            hint = "give each message an id of its own, or leave it out"
            raise InputError(what, where=f"turn {stored[0].turn}", hint=hint)
        return ""


def _became(step: Step[Any], waiting: Collection[str], compress_over: int) -> Iterator[str]:
    """Say in a few lines what became of a turn."""
    taken = [message for commit in step.commits for message in commit.given.turn]
    own = [message for message in taken if message.ref not in waiting] or taken
    shown = ", ".join(f"{message.ref} as {message.channel.value}" for message in own)
    yield f"stored in turn {step.state.turn}{f' ({shown})' if shown else ''}"
    if before := [message.ref for message in taken if message not in own]:
        yield f"with {', '.join(before)}, stored before and not read until now"
    unread = {entry.ref for entry in step.state.unread if entry.status == "unread"}
    if step.failure:
        outcome = step.failure.partition(":")[0]
        yield f"not read yet ({outcome}): it stands word for word until a later turn is read"
    elif unread & {message.ref for message in own}:
        yield f"it stands word for word until {compress_over:,} tokens are compressed together"
    elif not step.notes:
        yield "nothing of it is in the state; recall can find it"
    yield from noted(step.notes, step.state)
    tail = sum(entry.tokens for entry in step.state.unread)
    tokens = step.policy.counter(render(step.state, step.policy.style))
    yield f"state: {tokens:,} of at most {step.policy.max_tokens:,} tokens; word for word: {tail:,}"


def noted(notes: Sequence[Note], state: CompressedCognitiveState) -> Iterator[str]:
    """Yield the notes: refusals and what left first, then rules and goals, each with its words.

    Of other items that were kept it names the ids: their words are those that the caller has just sent.
    """
    slots = {item.id: slot for slot, item in state.items()}
    plain = [
        n for n in notes if n.reason in _KEPT and n.item in slots and not slots[n.item].is_pinned
    ]
    told = sorted((n for n in notes if n not in plain), key=lambda note: note.reason in _LAST)
    yield from (inert_line(str(note))[:LONGEST_NOTE] for note in told[:MOST_NOTES])
    if more := told[MOST_NOTES:]:
        counted = Counter(note.reason.value for note in more)
        yield f"and {len(more)} more: {', '.join(f'{n} {word}' for word, n in counted.items())}"
    for reason in _KEPT:
        ids: defaultdict[str, list[str]] = defaultdict(list)
        for note in plain:
            if note.reason is reason:
                ids[slots[note.item].rules.key].append(note.item)
        if ids:
            kept = "; ".join(f"{slot} {' '.join(names)}" for slot, names in ids.items())
            yield f"{reason.value}: {kept}"


def quoted(text: str) -> str:
    """Return ``text`` in quotation marks, on one line and inert."""
    return inert(json.dumps(text, ensure_ascii=False))
