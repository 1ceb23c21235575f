"""The tail: the newest turns word for word, beside the state (law 1).

A state holds refs and digests of its tail. The texts come from the journal, from a graph's messages or from the
caller, and are checked by digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from acc.state.items import LONGEST_MARK
from acc.state.model import TailRef, TailStatus
from acc.state.policy import Policy
from acc.state.reasons import Note, Reason
from acc.text.lines import one_line
from acc.text.tokens import TokenCounter
from acc.turn.observations import LAWFUL, Channel, Evidence, Observation
from acc.turn.turn import Turn

MOST_REFS = 512
"""Maximum number of messages in a tail."""


@dataclass(frozen=True)
class Message:
    """A message of the tail, with what the memory knows of it.

    Attributes:
        observation: The message: channel, name, text, ref.
        turn: Number of its turn.
        at: When it was said, in ISO 8601; empty if unknown.
        status: Whether a compression has read it (`acc.state.model.TailRef`).
        tries: Compressions that left an item of it unsettled.
        cut_start: Whether text before it was left out.
        cut_end: Whether text after it was left out.
    """

    observation: Observation
    turn: int
    at: str = ""
    status: TailStatus = "unread"
    tries: int = 0
    cut_start: bool = False
    cut_end: bool = False

    @property
    def ref(self) -> str:
        return self.observation.ref

    @property
    def channel(self) -> Channel:
        return self.observation.channel

    @property
    def text(self) -> str:
        return self.observation.text

    @property
    def speaker(self) -> str:
        """The name of the user or operator who speaks, if the message carries one."""
        is_spoken = self.channel in (Channel.USER, Channel.OPERATOR)
        return self.observation.name if is_spoken else ""


def digest_of(observation: Observation, key: bytes = b"") -> str:
    """Return the keyed digest of a message's channel, name, call id and text."""
    return hashlib.blake2b(observation.identity.encode(), key=key[:64], digest_size=16).hexdigest()


def messages_of(turn: Turn) -> tuple[Message, ...]:
    """Return the messages of a numbered turn."""
    return tuple(Message(o, turn.number, o.at or turn.at) for o in turn.observations)


def tail_ref(message: Message, policy: Policy) -> TailRef:
    """Return the entry of a state's tail for ``message``."""
    return TailRef(
        ref=message.ref,
        digest=digest_of(message.observation, policy.digest_key),
        tokens=policy.counter(message.text),
        status=message.status,
        tries=message.tries,
    )


def resolved(
    refs: Sequence[TailRef], texts: Iterable[Message], policy: Policy
) -> tuple[tuple[Message, ...], tuple[Note, ...]]:
    """Find the text of each entry of a tail.

    Returns:
        The messages in the tail's order, and a note for each unread entry whose text is missing or was changed.
    """
    by_ref = {message.ref: message for message in texts}
    found, notes = [], []
    for ref in refs:
        message = by_ref.get(ref.ref)
        if message and digest_of(message.observation, policy.digest_key) == ref.digest:
            found.append(message)
        elif ref.status != "read":
            detail = "its text was changed" if message else "its text was not given"
            notes.append(Note(reason=Reason.MISSING, ref=ref.ref, detail=detail))
    return marked(refs, found), tuple(notes)


def marked(refs: Sequence[TailRef], messages: Iterable[Message]) -> tuple[Message, ...]:
    """Return those of ``messages`` that stand in a tail, in its order and with its marks."""
    by_ref = {message.ref: message for message in messages}
    return tuple(
        replace(by_ref[each.ref], status=each.status, tries=each.tries)
        for each in refs
        if each.ref in by_ref
    )


def shortened(text: str, most: int, policy: Policy, ref: str = "") -> str:
    """Return ``text``, or its head and end with a ref between them if it has more than ``most`` tokens."""
    if policy.counter(text) <= most:
        return text
    keep = max(1, len(text) * most // (2 * policy.counter(text)))
    return f"{text[:keep].rstrip()} [... {ref}] {text[-keep:].lstrip()}"


def rendered(messages: Iterable[Message], policy: Policy) -> Iterator[str]:
    """Return each message of the tail as the agent reads it.

    Texts of tools and documents over their share stand with head and end and their ref. They do so from the
    first moment on, so that the prompt's prefix changes only at a compression.
    """
    shown = (message for message in messages if message.status != "provisional")
    return (labelled(message, policy) for message in shown)


def recalled(evidence: Iterable[Evidence]) -> Iterator[str]:
    """Yield each piece of admitted evidence as the agent reads it, after the tail (law 1)."""
    for each in evidence:
        is_document = each.channel is Channel.DOCUMENT and each.name
        name = f" {one_line(each.name)[:LONGEST_MARK]}" if is_document else ""
        turn = f", turn {each.turn}" if each.turn else ""
        yield _as_message(f"earlier, {each.channel.value}{name}{turn}", each.text)


def labelled(message: Message, policy: Policy) -> str:
    """Return one message with its channel and name in front."""
    said = one_line(message.observation.name)[:LONGEST_MARK]
    if message.text.startswith(f"{said}("):  # a call names its tool itself
        said = ""
    name = f" {said}" if said else ""
    is_long = message.channel in (Channel.TOOL, Channel.DOCUMENT)
    most = policy.tool_share
    text = shortened(message.text, most, policy, message.ref) if is_long else message.text
    return _as_message(f"{message.channel.value}{name}", text)


def _as_message(label: str, text: str) -> str:
    """Return a text behind a label. Further lines are indented: none can pose as a message."""
    return f"[{label}] " + "\n  ".join(text.splitlines() or [""])


OVERLAP = 0.1
"""Share of a window's text that the next window repeats, so that no sentence is cut in both."""

MOST_PIECES = 4
"""Pieces that are read of one message that is neither user's nor operator's, half from each end."""


def windows(
    messages: Sequence[Message], counter: TokenCounter, most: int
) -> tuple[list[list[Message]], tuple[Note, ...]]:
    """Group messages for requests of at most ``most`` tokens each; a longer message is read in pieces.

    Returns:
        The groups in order, and a note for each message of which the middle is left out.
    """
    groups, notes, room = list[list[Message]](), list[Note](), 0
    for message in messages:
        pieces, is_whole = _pieces(message, counter, most)
        for piece in pieces:
            tokens = counter(piece.text)
            if tokens > room or not groups:
                groups.append([])
                room = most
            groups[-1].append(piece)
            room -= tokens
        if not is_whole:
            detail = "it is too long: its middle was not read"
            notes.append(Note(reason=Reason.UNREAD, ref=message.ref, detail=detail))
    return groups, tuple(notes)


def _pieces(message: Message, counter: TokenCounter, most: int) -> tuple[list[Message], bool]:
    """Return the pieces of a message that are read, and whether these are all."""
    text, tokens = message.text, counter(message.text)
    if tokens <= most:
        return [message], True
    size = max(1, len(text) * most // tokens)
    step = max(1, int(size * (1 - OVERLAP)))
    starts: Sequence[int] = range(0, max(1, len(text) - size + step), step)
    is_whole = message.channel in LAWFUL or len(starts) <= MOST_PIECES
    if not is_whole:
        starts = [*starts[: MOST_PIECES // 2], *starts[-MOST_PIECES // 2 :]]
    pieces = [
        replace(
            message,
            observation=message.observation.model_copy(update={"text": text[at : at + size]}),
            cut_start=at > 0,
            cut_end=at + size < len(text),
        )
        for at in starts
    ]
    return pieces, is_whole
