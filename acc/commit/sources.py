"""What a compressor was given to read now, and finding its quotes and refs there (laws 5 and 6)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

import regex

from acc.state.items import LONGEST_WORDS, Words
from acc.state.policy import Policy
from acc.state.proposal import refs_in
from acc.state.reasons import Note, Reason
from acc.state.tail import Message
from acc.text.normal import normalised, unescaped
from acc.text.quoting import NotFound, Quotable
from acc.text.sentences import sentences
from acc.turn.observations import LAWFUL, SPEECH, Channel, Evidence, Trust

LONGEST_ABOUT = 120
"""Maximum length of an ``about`` in characters: a name, no second sentence."""

MOST_WORDS_ABOUT = 6
"""Words of an ``about`` that the agent may have from a tool or document: a name, no order."""


class Sources:
    """The messages and the evidence of one reading; ``heard`` was said before, and no ref of it can be cited."""

    def __init__(
        self,
        messages: Sequence[Message],
        evidence: Sequence[Evidence],
        policy: Policy,
        heard: Sequence[Evidence] = (),
    ) -> None:
        self.messages = tuple(messages)
        self.evidence = {each.ref: each for each in evidence}
        self.heard = tuple(heard)
        self._policy = policy
        self._places = {message.ref: place for place, message in enumerate(self.messages)}
        self._quotable: dict[int, Quotable] = {}

    def place(self, written: str) -> int | None:
        """Return the place of the message whose ref stands somewhere in ``written``."""
        return next((self._places[ref] for ref in refs_in(written) if ref in self._places), None)

    def has(self, ref: str) -> bool:
        """Return whether a message or evidence with this ref was read."""
        return ref in self._places or ref in self.evidence

    def sentence(
        self, quote: str, ref: str, channels: Sequence[Channel] = LAWFUL, of: str = ""
    ) -> Words | Note:
        """Return the whole sentence around ``quote`` in a message of ``channels``, or why there is none.

        The message that ``ref`` names is searched first, then all others: a wrong ref loses no sentence.
        """
        first = self.place(ref)
        near: list[NotFound] = []
        for place in sorted(range(len(self.messages)), key=lambda place: place != first):
            if self.messages[place].channel not in channels or not self._may_speak(place):
                continue
            found = self._search(quote, place)
            if not isinstance(found, NotFound):
                return found
            near += [found] if found.reason != "absent" else []
        if near:
            reason = Reason.AMBIGUOUS if near[0].reason == "ambiguous" else Reason.CUT_EDGE
            both = " / ".join(f'"{each[:80]}"' for each in near[0].candidates[:2])
            return refusal(reason, quote, both, of, ref)
        if first is not None and self.messages[first].channel not in channels:
            why = f"the words of a {self.messages[first].channel.value}"
            return refusal(Reason.UNTRUSTED, quote, why, of, ref)
        why = "these words stand in no message of " + " or ".join(c.value for c in channels)
        return refusal(Reason.NOT_FOUND, quote, why, of, ref)

    def is_before(self, one: Words, other: Words) -> bool:
        """Return whether ``one`` was said before ``other``: by message and place in it, or else by turn."""
        first, second = (self._places.get(words.ref) for words in (one, other))
        if first is None or second is None:
            return one.turn < other.turn
        if first != second:
            return first < second
        text = normalised(self.messages[first].text)
        here, there = (text.find(normalised(words.text)) for words in (one, other))
        return 0 <= here < there

    def span(self, text: str) -> Words | None:
        """Return a verbatim span of a message of user, operator or agent."""
        wanted = normalised(text)
        if not wanted or len(text) > LONGEST_ABOUT:
            return None
        for message in self.messages:
            if message.channel not in SPEECH or wanted not in normalised(message.text):
                continue
            if message.channel is Channel.AGENT and _is_long(wanted) and self.is_repeated(text):
                continue  # an order of a tool's in the agent's mouth
            return words_of(message, text)
        return None

    def before(self, place: int) -> int | None:
        """Return the place of the agent's message that the message at ``place`` follows directly.

        Messages of the same speaker may lie between. Anything of another channel breaks the pair, so that a "yes"
        to a tool's or a document's question refers to nothing (law 6).
        """
        speaker = self.messages[place]
        for earlier in range(place - 1, -1, -1):
            message = self.messages[earlier]
            if message.channel is Channel.AGENT and not message.observation.is_task:
                return None if message.observation.is_call else earlier
            if (message.channel, message.speaker) != (speaker.channel, speaker.speaker):
                return None
        return None

    def is_repeated(self, sentence: str, place: int | None = None) -> bool:
        """Return whether a tool's or document's text that was read has the words of ``sentence`` in their order.

        Or a long sentence of one stands in the other. Of messages, those in front of ``place`` count.
        """
        wanted = f" {words_alone(sentence)} "
        told = [t for at, t in self._told if at is None or place is None or at < place]
        return any(wanted in t.words or any(t.shared_with(sentence)) for t in told)

    def lesser(self, values: Iterable[str], cited: Collection[str]) -> tuple[str, ...]:
        """Return the refs of the tools' and documents' texts that hold the words of a value in their order.

        Not of a value that a message of user or operator holds which is cited: it is theirs. Nor of a few words, which
        stand in many texts.
        """
        found: list[str] = []
        for value in filter(_is_long, values):
            wanted = f" {words_alone(value)} "
            holding = [(trust, ref) for trust, ref, text in self._read if wanted in text]
            if not any(trust >= Trust.USER and ref in cited for trust, ref in holding):
                lesser = [ref for trust, ref in holding if trust < Trust.AGENT]
                found += [ref for ref in lesser if ref in cited] or lesser
        return tuple(dict.fromkeys(found))

    def raises(self, text: str, cited: Collection[str], trust: Trust) -> bool:
        """Return whether a cited message of more than ``trust`` holds the words of ``text`` in their order."""
        wanted = f" {words_alone(text)} "
        return any(t > trust and ref in cited and wanted in said for t, ref, said in self._read)

    @cached_property
    def _told(self) -> list[tuple[int | None, Told]]:
        """What tools and documents said, with its place among the messages; None for what was said before."""
        own = [(at, m.text) for at, m in enumerate(self.messages) if m.channel not in SPEECH]
        other = [e.text for e in (*self.evidence.values(), *self.heard) if e.trust < Trust.AGENT]
        return [*((at, Told.of(text)) for at, text in own), *((None, Told.of(t)) for t in other)]

    @cached_property
    def _read(self) -> list[tuple[Trust, str, str]]:
        """Trust, ref and words of everything that was read."""
        read = [(m.channel.trust, m.ref, m.text) for m in self.messages]
        read += [(e.trust, e.ref, e.text) for e in self.evidence.values()]
        return [(trust, ref, _readings(text)) for trust, ref, text in read]

    def _may_speak(self, place: int) -> bool:
        message, allowed = self.messages[place], self._policy.speakers
        is_named = message.channel is Channel.USER and bool(message.speaker)
        return allowed is None or not is_named or message.speaker in allowed

    def _search(self, quote: str, place: int) -> Words | NotFound:
        message = self.messages[place]
        if place not in self._quotable:
            self._quotable[place] = Quotable(message.text, message.cut_start, message.cut_end)
        found = self._quotable[place].find(quote)
        return words_of(message, found) if isinstance(found, str) else found


def refusal(reason: Reason, quote: str, why: str, of: str, ref: str = "") -> Note:
    """Return the note of a quote that is refused."""
    return Note(reason=reason, ref=ref, text=quote[:80], detail=why, of=of)


_TAG = re.compile(r"</?[a-zA-Z][\w-]{0,40}(?:\s[^<>]{0,200})?/?>")
_WORD = re.compile(r"[^\W_]+")
_WIDE = regex.compile(r"[\p{Line_Break=Ideographic}\p{Line_Break=Complex_Context}]+")
_BY_LETTER = {channel.value[0]: channel.trust for channel in Channel}


def words_alone(text: str) -> str:
    """Return the words without tags, signs and marks between them."""
    return " ".join(_WORD.findall(normalised(_TAG.sub(" ", text))))


def _readings(text: str) -> str:
    """Return the words of a text: as it stands, behind the escapes of JSON and HTML, and with what looks like tags."""
    plain = unescaped(text)
    forms = dict.fromkeys((text, plain, plain.replace("<", " ")))  # mostly one
    return f" {' | '.join(dict.fromkeys(map(words_alone, forms)))} "


def _is_long(text: str) -> bool:
    """Whether a text has more words than a name; two characters of a script without spaces count as one."""
    wide = sum(map(len, _WIDE.findall(text)))
    return len(_WORD.findall(text)) + wide // 2 > MOST_WORDS_ABOUT


class Told(NamedTuple):
    """A text of a tool or document: its words, and its long sentences, each with its words."""

    words: str
    sentences: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, text: str) -> Told:
        """Read a text."""
        return cls(_readings(text), tuple(_long_sentences(unescaped(text))))

    def shared_with(self, said: str) -> Iterator[str]:
        """Yield the long sentences of ``said`` that stand in the text, and those of the text that stand in ``said``."""
        own = f" {words_alone(said)} "
        yield from (each for each, words in _long_sentences(said) if words in self.words)
        yield from (each for each, words in self.sentences if words in own)


def _long_sentences(text: str) -> Iterator[tuple[str, str]]:
    for each in sentences(text):
        if _is_long(each.text):
            yield each.text, f" {words_alone(each.text)} "


def said_before(texts: Sequence[str], messages: Iterable[Message]) -> list[Evidence]:
    """Return what tools and documents said in ``messages`` of what stands in ``texts``: long sentences of theirs."""
    found = []
    for message in messages:
        if message.channel not in SPEECH:
            told = Told.of(message.text)
            same = dict.fromkeys(each for text in texts for each in told.shared_with(text))
            kept = message.observation.model_dump(exclude={"text"})
            found += [Evidence(**kept, text="\n".join(same), turn=message.turn)] if same else []
    return found


def trust_of(ref: str) -> Trust:
    """Return the trust of the channel that a ref names by its first letter (`acc.turn.turn.Turn.numbered`)."""
    return _BY_LETTER.get(ref[:1], Trust.DOCUMENT)


def words_of(message: Message, text: str) -> Words:
    """Return ``text`` as words of the message's speaker. One word without end is cut."""
    whole = " ".join(text.split())
    return Words(
        text=whole if len(whole) <= LONGEST_WORDS else f"{whole[: LONGEST_WORDS - 6]} [...]",
        ref=message.ref,
        channel=message.channel,
        speaker=message.speaker,
        at=message.at,
        turn=message.turn,
    )
