"""The sentences of what a compressor was given to read, by channel, with their clauses.

Sentences that are not English are not read: they stand in the tail alone, and the step says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

from py3langid.langid import LanguageIdentifier

from acc.compress.keyless.words import Clause, clauses, one_of, plain
from acc.state.reading import Reading
from acc.state.tail import Message
from acc.text.sentences import identifier, sentences
from acc.turn.observations import LAWFUL, SPEECH, Channel

HEAD = 600
"""Characters at the head of a text that tell its language."""

SURE, LIKELY = 0.9, 0.5
"""Probability of another language from which a text with few English words, or with none, is not English."""

_LETTERS = re.compile(r"[^\W\d_]+")
_FUNCTION_WORDS = re.compile(
    r"\b" + one_of(
        """the,and,of,is,it,you,we,for,that,with,have,this,my,your,please,to,are,will,be,if,what,can,don't,not,it's,
        they,from,by,at,has,but,our,how,when,should,must,only,any,every,never,always,i,i'm,i'd,i'll,on,still,now,keep,
        let,us,back,up,out,about,than,more,before,until,do,who,which,without,their,there,last,next"""
    ),
    re.I,
)  # fmt: skip


@cache
def _sure_identifier() -> Any:
    """Return the model of `identifier`, which then tells how probable a language is."""
    model = identifier()
    return LanguageIdentifier(
        model.nb_ptc, model.nb_pc, model.nb_classes, model.tk_nextmove, model.tk_output,
        norm_probs=True, tk_row=model.tk_row,
    )  # fmt: skip


@lru_cache(maxsize=2048)
def is_english(text: str) -> bool:
    """Return whether ``text`` may be English. Names, numbers and code are taken for it."""
    head = text[:HEAD]
    words = _LETTERS.findall(head)
    letters = sum(map(len, words))
    if 2 * sum(len(word) for word in words if word.isascii()) < letters:
        return False
    own = len(_FUNCTION_WORDS.findall(head))
    if len(words) < 3 or own >= 1 + len(words) // 8:
        return True
    found, sure = _sure_identifier().classify(head.encode("utf-8", "replace").decode())
    least = LIKELY if not own and len(words) > 3 else SURE
    return bool(found == "en" or sure < least)


MOST_SENTENCES = 200
"""Maximum number of sentences read of a message of agent, tool or document, half from each end.

Of user and operator all are read: each may be a rule.
"""

LONGEST = 400
"""Maximum length in characters of a sentence that is read."""


@dataclass(frozen=True)
class SaidSentence:
    """A sentence of somebody's message.

    Attributes:
        text: The sentence, verbatim.
        whole: The same as one clause, with straight apostrophes, between its neighbours in the message.
        heading: The heading of its list.
        message: The message.
        place: Its place among the messages that were read.
    """

    text: str
    whole: Clause
    heading: str
    message: Message
    place: int

    @property
    def words(self) -> str:
        """The sentence with straight apostrophes."""
        return self.whole.words

    @property
    def ref(self) -> str:
        """The message's ref."""
        return self.message.ref

    @property
    def is_new(self) -> bool:
        """Whether no compression has read the message before."""
        return self.message.status != "read"

    @property
    def asks(self) -> bool:
        """Whether it ends with a question mark."""
        return self.words.rstrip("\"')” ").endswith("?")

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """Its clauses, each with its neighbours."""
        parts = clauses(self.words)
        around = [self.whole.before, *parts, self.whole.after]
        return tuple(Clause(part, around[i], around[i + 2]) for i, part in enumerate(parts))


@dataclass(frozen=True)
class HeardClauses:
    """What was read.

    Attributes:
        user: English sentences of user and operator, of those who may lay down rules.
        others: Those of other users and of the agent, without its calls.
        unread: Refs of messages with sentences of another language, or too long ones of the user.
    """

    user: tuple[SaidSentence, ...]
    others: tuple[SaidSentence, ...]
    unread: tuple[str, ...]

    def reply_before(self, said: SaidSentence) -> str:
        """Return the agent's words before a sentence of the user's."""
        before = [o for o in self.others if o.place < said.place]
        return " ".join(o.words for o in before if o.place == before[-1].place)

    def message_of(self, said: SaidSentence) -> str:
        """Return all sentences of the user's message."""
        return " ".join(each.words for each in self.user if each.place == said.place)


def heard(reading: Reading) -> HeardClauses:
    """Split the messages of ``reading`` that no compression has read before; the others are context."""
    user: list[SaidSentence] = []
    others: list[SaidSentence] = []
    unread: list[str] = []
    for place, message in enumerate(reading.messages):
        if message.channel in SPEECH and not message.observation.is_call:
            lists = user if _lays_down(reading, message) else others
            lists.extend(_said(message, place, unread))
    new = tuple(said for said in user if said.is_new)
    return HeardClauses(new, tuple(others), tuple(dict.fromkeys(unread)))


def _lays_down(reading: Reading, message: Message) -> bool:
    """Return whether the message is of user or operator, and of a speaker whose words may be rules (law 6)."""
    if message.channel not in LAWFUL:
        return False
    speakers = reading.policy.speakers
    return speakers is None or not message.speaker or message.speaker in speakers


def _said(message: Message, place: int, unread: list[str]) -> Iterator[SaidSentence]:
    found = sentences(message.text)
    if len(found) > MOST_SENTENCES and message.channel not in LAWFUL:
        found = [*found[: MOST_SENTENCES // 2], *found[-MOST_SENTENCES // 2 :]]
    texts = ["", *(plain(" ".join(each.text.split())) for each in found), ""]
    is_foreign = not is_english(" ".join(texts))
    for each, before, words, after in zip(found, texts, texts[1:], texts[2:], strict=False):
        is_long = len(words) > LONGEST and message.channel is not Channel.AGENT
        is_read = _is_english(words, is_foreign)
        if (is_long or not is_read) and message.status != "read":
            unread.append(message.ref)
        if is_read and len(words) <= LONGEST:
            yield SaidSentence(
                each.text, Clause(words, before, after), each.heading, message, place
            )


def _is_english(words: str, in_foreign: bool) -> bool:
    """In a message of another language, a sentence is English only if it has more than two English words."""
    return is_english(words) if not in_foreign else len(words.split()) > 3 and is_english(words)
