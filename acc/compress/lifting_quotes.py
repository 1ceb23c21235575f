"""Whether the words that a model quotes for the end of a rule or goal can be meant for it.

Law 7 asks for a quote that was said. This asks, before commit, whether what was said has to do
with the item. A retirement is doubted where of all quoted sentences

- each names other things than the item does ("db-50" where the rule is on "db-3");
- another rule or goal is plainly the one that they are about; or
- none reads like a lifting or a change, and neither they nor what stands around them, the
  message and the reply that it answers, has a content word or a figure in common with the item;
  or all that they do is lay it down once more.

A doubted retirement is told to the model in its one repair, and refused by commit if it comes
again. Acts are read in English alone; in other languages only names and other rules count.
The classifier's part stays out of the laws: what it says is written on the proposal, so that a
commit is recomputed without it. ``python benchmarks/spurious_retirements.py`` says how often it
refuses what was meant, and lets pass what was not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from acc.compress.prompt import Reading
from acc.state.items import Goal, Item
from acc.state.proposal import Proposal, Retirement
from acc.text.quoting import find_quote
from acc.text.wording import marks, same_polarity, stems
from acc.turn.observations import Trust

NEVER = 0.008
"""Probability of a lifting or change up to which a sentence ends no rule that it barely touches."""

MOVES = 0.04
"""The same for words that have nothing in common with the rule."""

MOVES_KIN = 0.3
"""The same for words on another thing of the same kind: it may take the place of the rule's."""

PLAINLY = 0.4
"""How much more of another item than of this one words repeat that are meant for the other."""

LEAST_SHARED = 2
"""Content words in common with the rule by which a statement may end it, however it sounds."""

_KIND = re.compile(r"[^\W\d_]{2,}")
_MOST_SENTENCES = 200


class Passage(NamedTuple):
    """The words quoted for the end of an item.

    Attributes:
        sentences: The sentences in which they stand.
        message: The whole message.
        reply: What the agent had said before; or empty.
    """

    sentences: tuple[str, ...]
    message: str
    reply: str


def doubted(proposal: Proposal, reading: Reading) -> Proposal:
    """``proposal`` with a word of doubt on each retirement whose quote cannot be meant for it."""
    held = {
        item.id: item for slot, item in reading.state.items() if slot.rules.pinned and item.is_open
    }
    retire = tuple(
        retired.model_copy(update={"doubt": _doubt(retired, held, reading)})
        if retired.id in held
        else retired
        for retired in proposal.retire
    )
    return proposal.model_copy(update={"retire": retire})


def _doubt(retired: Retirement, held: dict[str, Item], reading: Reading) -> str:
    passage = _passage(retired, reading)
    if passage is None:
        return ""
    item = held[retired.id]
    others = [other for other in held.values() if other.id != item.id]
    return doubt_about(passage, item, others)


def doubt_about(passage: Passage, item: Item, others: Sequence[Item]) -> str:
    """Why ``passage`` cannot be meant for the end of ``item``; empty where it can.

    Args:
        passage: What is quoted.
        item: The rule or goal.
        others: The other rules and goals that stand.
    """
    left = tuple(words for words in passage.sentences if not _is_of_another(words, item, passage))
    if not left:
        return "the quoted words name other things than the item does"
    if rival := _rival(" ".join(left), item, others):
        return f"the quoted words are about {rival}"
    if _can_end(passage._replace(sentences=left), item):
        return ""
    return "the quoted words have nothing to do with the item, and lift or change nothing"


def _rival(words: str, item: Item, others: Sequence[Item]) -> str:
    """Id of the other item that ``words`` are plainly about; a number alone may be of anything."""
    from acc.keyless.lifting import Shares, content

    said = content(words)
    held = tuple(content(_says(each)) for each in (item, *others))
    mine, *theirs = Shares.of(said, held).each
    named = (
        (share, other.id)
        for share, other, own in zip(theirs, others, held[1:], strict=True)
        if not all(stem.isdigit() for stem in own & said)
    )
    share, rival = max(named, default=(0.0, ""))
    return rival if share > mine + PLAINLY else ""


def _passage(retired: Retirement, reading: Reading) -> Passage | None:
    """The quoted sentences; None where nothing is quoted: commit says so."""
    for source in (*reading.turn.pending, *reading.turn.observations):
        if source.ref not in retired.cites or source.trust < Trust.USER:
            continue
        found = find_quote(retired.quote, source.text)
        if found is None:
            continue
        reply = reading.turn.reply_before(source.ref)
        return passage_of(found, source.text, reply.text if reply is not None else "")
    return None


def passage_of(quote: str, message: str, reply: str) -> Passage:
    """The sentences of ``message`` in which ``quote`` stands, with what is around them."""
    from acc.keyless.sentences import plain, sentences

    words = " ".join(plain(quote).split())
    said = (" ".join(plain(each.text).split()) for each in sentences(message, _MOST_SENTENCES))
    found = tuple(each for each in said if each in words or words in each)
    return Passage(found or (words,), plain(message), plain(reply))


def _is_of_another(words: str, item: Item, passage: Passage) -> bool:
    """Whether a sentence names things, none of them the item's, and cannot speak of the item.

    A figure may take the place of a figure, and one thing that of another of its kind, where the
    sentence says so; and what is around it may tie the name to an item that names nothing.
    """
    from acc.keyless.lifting import content

    text = _says(item)
    own, named = _names(text), _names(words)
    if not named or own & named:
        return False
    if not content(words) & content(text):
        tied = not own and any(_touches(said, text) for said in (passage.message, passage.reply))
        return not tied
    kin = {_kind_of(name) for name in own} & {_kind_of(name) for name in named}
    return bool(kin) and _moving(words, item) < MOVES_KIN


def _can_end(passage: Passage, item: Item) -> bool:
    from acc.keyless.words import is_foreign

    text = _says(item)
    if any(map(is_foreign, (" ".join(passage.sentences), passage.message, text))):
        return True
    said = [words for words in passage.sentences if not _repeats(words, text)]
    moving = max((_moving(words, item) for words in said), default=0.0)
    if moving > MOVES or any(_speaks_of(words, text) for words in said):
        return True
    around = (*passage.sentences, passage.message, passage.reply)
    return moving > NEVER and any(_touches(words, text) for words in around)


def _repeats(words: str, text: str) -> bool:
    """Whether ``words`` lay the rule down once more: in its words, and no other."""
    return stems(words) == stems(text) and same_polarity(words, text)


def _speaks_of(words: str, text: str) -> bool:
    """Whether ``words`` are plainly about the rule, and neither ask nor lay down one themselves."""
    from acc.keyless.acts import acts
    from acc.keyless.lifting import content
    from acc.keyless.reading import Spoken

    if len(content(words) & content(text)) < LEAST_SHARED:
        return False
    odds = acts(Spoken(words))
    return odds["question"] + odds["rule"] < 1 / 2


def _touches(words: str, text: str) -> bool:
    """Whether ``words`` have a content word or a mark of ``text``, or a figure near one of it."""
    from acc.keyless.lifting import content
    from acc.keyless.values import figures, sets_another

    if content(words) & content(text) or marks(words) & marks(text):
        return True
    return sets_another(figures(words), text, times=10)


def _moving(words: str, item: Item) -> float:
    """The probability that a sentence lifts or changes something; of a goal, that it tells of an end."""
    from acc.keyless.acts import acts
    from acc.keyless.reading import Spoken

    odds = acts(Spoken(words))
    return odds["lift"] + odds["change"] + (odds["done"] if isinstance(item, Goal) else 0.0)


def _names(words: str) -> frozenset[str]:
    """The marks that begin with a word: "db-50", "eu-west-2"; no versions, dates or amounts."""
    return frozenset(mark for mark in marks(words) if _KIND.match(mark))


def _kind_of(name: str) -> str:
    found = _KIND.match(name)
    return found.group() if found else name


def _says(item: Item) -> str:
    return str(getattr(item, item.head))
