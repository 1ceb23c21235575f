"""The topic of the conversation, past events, the next step, open questions, and documents to open."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from acc.keyless.acts import acts
from acc.keyless.goals import is_bare_turn, is_goal
from acc.keyless.lookalikes import REFUSED, is_hearsay, is_past_or_fancy
from acc.keyless.outcomes import outcomes_in
from acc.keyless.reading import MOST_SENTENCES, Said, TurnReading, text_of
from acc.keyless.room import Room
from acc.keyless.rules import Rule, makes_rule
from acc.keyless.sentences import fit, plain, sentences, tidy
from acc.keyless.words import NEW_TOPIC, NEXT, OPEN
from acc.text import wording as asking
from acc.text.patterns import any_of, cue, one_of
from acc.text.wording import is_assent, marks, stems
from acc.turn.excerpt import GAP
from acc.turn.observations import Channel, Evidence, is_ingested

LONGEST_PASSAGE = 280
"""Maximum characters of a passage. With its ref it fits a line of the state."""


def passage_about(text: str, asked: frozenset[str]) -> str:
    """The passage of ``text`` about the stems ``asked``; empty if no sentence shares any of them.

    It starts from the sentence or line that shares most of these stems and adds words of its own. As
    far as `LONGEST_PASSAGE` allows, it adds lines with the remaining stems, such as the heading above or the
    first row of a table. The lines keep the order of the text.
    """
    lines = [line.text.lstrip("# ") for line in sentences(text, MOST_SENTENCES)]
    telling = [at for at, line in enumerate(lines) if stems(line) - asked]
    chosen = [] if not telling else [_next(lines, telling, asked, asked)]
    if not chosen or not stems(lines[chosen[0]]) & asked:
        return ""
    while True:
        left = asked.difference(*(stems(lines[at]) for at in chosen))
        rest = [at for at in range(len(lines)) if at not in chosen and stems(lines[at]) & left]
        more = [*chosen, _next(lines, rest, left, asked)] if rest else chosen
        if more == chosen or len(_joined(lines, more)) > LONGEST_PASSAGE:
            return fit(_joined(lines, chosen), LONGEST_PASSAGE)
        chosen = more


def _next(
    lines: Sequence[str], places: Sequence[int], left: frozenset[str], asked: frozenset[str]
) -> int:
    """The line of ``places`` with most stems of ``left``; of equals the one with more marks."""

    def worth(at: int) -> tuple[int, int, int]:
        words = stems(lines[at])
        return len(words & left), len(marks(lines[at])) + len(words - asked), -at

    return max(places, key=worth)


def _joined(lines: Sequence[str], chosen: Sequence[int]) -> str:
    ordered = sorted(chosen)
    said = [lines[at] if at - 1 in chosen else f"{GAP} {lines[at]}" for at in ordered]
    return " ".join(said).removeprefix(f"{GAP} ")


LONGEST_TOPIC = 80
"""Maximum characters of a topic. The goal that it comes from has the full text."""

LONGEST_NEWS = 100
"""The same for a topic that reports something done."""

Ruled = Mapping[Said, Sequence[Rule]]
"""The user's sentences, each with its rules."""


def revise_topic(reading: TurnReading, ruled: Ruled, room: Room) -> None:
    """Set the topic: of the first message, and later of the last outcome or a new subject.

    The topic is about the present: a later statement about the same thing replaces it. It is never
    a rule. If a rule with the same words is retired, the topic is retired too.
    """
    for item in room.held("semantic_gist"):
        about = stems(text_of(item))
        gone = (stems(rule.words) for rule in room.retired("constraints"))
        if any(len(about & words) >= 0.6 * len(about) for words in gone):
            room.retire(item)
    own = [said for said in reading.user if not makes_rule(said, ruled[said])]
    own = [said for said in own if not is_bare_turn(said.words)]
    if room.held("semantic_gist"):
        found = [said for said in own if NEW_TOPIC.search(said.words) and not said.asks]
    else:
        full = [said for said in (*own, *reading.foreign) if len(said.text) >= 16]
        full = [said for said in full if acts(said.spoken)["lift"] < LIFTS]
        found = [said for said in own if is_goal(said)] or full
    news = _news(reading, [said for said in own if not said.asks], room)
    if found:
        text = fit(tidy(found[0].text), LONGEST_TOPIC)
        room.add("semantic_gist", [found[0].ref], text=text)
    elif news is not None:
        text = fit(tidy(news.text).removeprefix("- "), LONGEST_NEWS)
        room.add("semantic_gist", [news.ref], text=text)


def _news(reading: TurnReading, own: Sequence[Said], room: Room) -> Said | None:
    """The last sentence that reports an outcome, or a fact about something that the topic names."""
    spoken = [said for said in (*own, *reading.agent) if not said.asks]
    told = [s for s in spoken if not (REFUSED.search(s.words) or is_hearsay(s.words))]
    topics = [marks(text_of(item)) for item in room.held("semantic_gist")]
    done = [said for said in told if any(outcomes_in(said.words))]
    named = (said for said in told if any(topic & marks(said.words) for topic in topics))
    later = [said for said in named if acts(said.spoken)["fact"] >= STATES]
    return next(reversed(done or later), None)


LIFTS = 0.5
"""Probability of a lifting from which a sentence is no topic."""

STATES = 0.5
"""Minimum probability of a fact for a sentence to state one."""

SHORT = 88
"""Maximum characters of a line about this turn, which the agent can read anyway."""

LONGEST_RECALLED = 120
"""Maximum characters of a recalled line."""

LONG_OUTPUT = 1_500
"""Length in characters from which the state only refers to a tool's output."""

_NO_STEP = re.compile(
    r"\bI(?:'ll| will) " + one_of("not, never, leave you, admit, be honest, miss, remember"), re.I
)
_HIGH = cue("block(?:s|ed|ing|er), critical, urgent, must know, root cause")
_LOW = cue("probably, maybe, perhaps, might, guess, minor, nice to know, roughly")
_GREETING = cue(
    """hi, hello, hey, good (?:morning|afternoon|evening), dear, thanks, thank you, cheers,
    great, ok, okay, sure""",
    before=r"^\W*",
)
_ASKING_BACK = cue(
    """remind, remember, recall, what was, which was, who was, as before, we said, you said,
    we agreed, again, look up, tell me, show me"""
)
"""Refers back without a question mark."""

_SHARE = {Channel.TOOL: 0.8}
"""Weight of a shared stem in words that no person in the conversation said."""

CLOSE = 0.5
"""Minimum share of the best line's stems for a line to count as good. Of good lines the latest
wins.
"""

MOST_WORDS = 8
"""Maximum lower-case words of a line of data. A line with more is prose."""

_LOWER_WORD = re.compile(r"(?<![\w.@/-])[a-z]{2,}(?![\w@/])")
_HEADER = re.compile(r"\W*(?:from|to|cc|subject|sent|date|re)\b\s*:", re.I)

Level = Literal["low", "medium", "high"]


class Line(NamedTuple):
    """A line for the state, with the ref of its source."""

    text: str
    ref: str


class Gap(NamedTuple):
    """An open question, with its level."""

    text: str
    level: Level
    ref: str


def trace_lines(reading: TurnReading, step: Line | None) -> Iterator[Line]:
    """What the user said and what the agent did, one line each. An assent includes the offer.

    The agent's announced ``step`` is omitted, because the cue has it.
    """
    said, found = _main_sentence(reading.user), agreed(reading)
    if said is not None:
        to = f" (to: {tidy(found[1][-1].text)})" if found and found[0] == said else ""
        yield Line(fit(f"user: {tidy(said.text)}{to}", SHORT), said.ref)
    done = _main_sentence([s for s in reading.agent if not REFUSED.search(s.words)])
    if done is not None and (step is None or tidy(done.text) != step.text):
        yield Line(fit(f"agent: {tidy(done.text)}", SHORT), done.ref)


def _main_sentence(said: Sequence[Said]) -> Said | None:
    """The first sentence of the last observation that reports an outcome, or has content, or any."""
    last = [s for s in said if s.ref == said[-1].ref and not is_courtesy(s)]
    full = (s for s in last if len(s.text.split()) >= (8 if _GREETING.match(s.text) else 4))
    done = (s for s in last if any(outcomes_in(s.words)))
    return next(done, next(full, last[0] if last else None))


def best_evidence(reading: TurnReading, most: int) -> list[tuple[Evidence, str]]:
    """At most ``most`` pieces of evidence about the user's question, each with its best line.

    Of the pieces near the best one: the conversation's, newest first, then documents by relevance.
    One place is reserved for the most relevant document. If the user asks nothing, only a piece that
    repeats most of the user's words counts. A line that is itself a question counts only if no other
    line answers.
    """
    asked = stems(" ".join(said.words for said in reading.user))
    asks = any(said.asks or _ASKING_BACK.search(said.words) for said in reading.user)
    least = 1.0 if asks else max(3.0, len(asked) / 2)
    # No line shares more stems than the whole text, and the gate has already computed those stems.
    near = [p for p in reading.evidence if len(asked & stems(p.text)) * _share_of(p) >= least]
    found = [(piece, _best_line(piece, asked)) for piece in near]
    lines = [entry for entry in found if not asking.asks(entry[1])] or found
    shared = [len(asked & stems(line)) * _share_of(piece) for piece, line in lines]
    least = max([least, *(count * CLOSE for count in shared)])
    close = [entry for entry, count in zip(lines, shared, strict=True) if count >= least]
    said = sorted((e for e in close if not is_ingested(e[0].ref)), key=lambda entry: -entry[0].turn)
    documents = sorted(
        (e for e in close if is_ingested(e[0].ref)), key=lambda entry: -len(asked & stems(entry[1]))
    )
    said = said[: most - 1] if documents else said[:most]
    return [*said, *documents[: most - len(said)]]


def _share_of(piece: Evidence) -> float:
    return _SHARE.get(piece.channel, 1.0)


def _best_line(piece: Evidence, asked: frozenset[str]) -> str:
    """The whole text if it is short, otherwise the line or sentence that shares most stems.

    For tools only lines of data count: their prose must not appear in the state. The same holds for
    documents, except those that the deployer has ingested.
    """

    def bearing(line: str) -> int:
        return len(asked & stems(line))

    if piece.channel is Channel.DOCUMENT:
        return passage_about(piece.text, asked) if is_ingested(piece.ref) else ""
    if piece.channel is Channel.TOOL:
        brief = (line for line in piece.text.splitlines() if len(line) <= LONGEST_RECALLED)
        return fit(max(filter(is_data, brief), key=bearing, default=""), LONGEST_RECALLED)
    whole = " ".join(piece.text.split())
    if len(whole) <= LONGEST_RECALLED:
        return whole
    said = (sentence.text for sentence in sentences(piece.text, MOST_SENTENCES))
    return fit(max(said, key=bearing, default=""), LONGEST_RECALLED)


def is_data(line: str) -> bool:
    return len(_LOWER_WORD.findall(line)) <= MOST_WORDS and not _HEADER.match(line)


def next_step(reading: TurnReading) -> Line | None:
    """The agent's last announced step."""
    for said in reversed(reading.agent):
        barred = said.asks or _NO_STEP.search(said.words) or REFUSED.search(said.words)
        if NEXT.search(said.words) and not barred:
            return Line(tidy(said.text), said.ref)
    return None


def gaps(reading: TurnReading, ruling: Container[Said]) -> Iterator[Gap]:
    """What the user states as open, and the agent's questions and doubts.

    The user's direct questions are skipped, because the agent answers them; so are rules, which leave
    nothing open.
    """
    for said in reading.user:
        if said in ruling or said.asks or is_past_or_fancy(said.words):
            continue
        if OPEN.search(said.words) and not is_hearsay(said.words):
            yield Gap(tidy(said.text), _level(said.words), said.ref)
    for said in reading.agent:
        asks = said.asks and len(said.words.split()) >= 4
        doubts = OPEN.search(said.words) and not said.asks
        if (asks or doubts) and not REFUSED.search(said.words):
            yield Gap(tidy(said.text), _level(said.words), said.ref)


def _level(words: str) -> Level:
    if _HIGH.search(words):
        return "high"
    return "low" if _LOW.search(words) else "medium"


def worth_opening(reading: TurnReading, used: Sequence[Evidence]) -> Iterator[Line]:
    """References to used documents, else to the first used piece; then to long tool outputs.

    Other used pieces need no reference: their trace line has the ref.
    """
    documents = [piece for piece in used if is_ingested(piece.ref)]
    for piece in documents or used[:1]:
        yield Line(fit(piece.name or piece.channel.value, 100) or "evidence", piece.ref)
    for tool in reading.tools:
        if len(tool.text) >= LONG_OUTPUT or tool.left_out:
            yield Line(_label(tool.name or "tool", tool.text), tool.ref)


def _label(name: str, text: str) -> str:
    first = next((line for line in text[:2_000].splitlines() if line.strip()), "")
    return fit(f"{name}: {plain(first)}", 100) or fit(name, 100) or "output"


_OFFER = cue(
    "I'd, I would, shall, should, propos\\w*, suggest\\w*, recommend\\w*, can be, could, draft"
)


def agreed(reading: TurnReading) -> tuple[Said, list[Said]] | None:
    """The user's assent to the agent's last reply, and the offers in that reply, if any."""
    assent = next((said for said in reading.user if is_assent(said.words)), None)
    asked = (said for said in reading.reply if said.asks or _OFFER.search(said.words))
    offers = [said for said in asked if not REFUSED.search(said.words)]
    return (assent, offers) if assent is not None and offers else None


_COURTESY = any_of(
    r"^\W*" + one_of(
        """thanks, thank you, cheers, ta, good (?:morning|afternoon|evening|night), morning, hello, hi, hey,
        sounds good, looks good, great(?: job| work| stuff)?, nice(?: one| job| work)?, well done, perfect, lovely,
        brilliant, excellent, awesome, wonderful, you're (?:a star|welcome|the best|great), you rock, no worries,
        no problem, my pleasure, congrat\\w*, bravo, bye, goodbye, take care, sleep well, see you, enjoy,
        have a (?:good|nice|great|lovely)"""
    ) + r"\b(?!,? (?:but|and|so|now|can|could|please|then)\b)[^\d?]{0,60}$",
    r"^\W*(?:how are you|how's (?:it going|life)|any plans|what about you|and you|did you sleep)\b[^\d]{0,40}$",
)  # fmt: skip
"""A sentence that only greets, thanks, praises or chats."""

CHATTER = 0.75
"""Minimum probability of acts without request, statement or rule for a sentence to be chatter."""


def is_courtesy(said: Said) -> bool:
    """Whether a sentence only greets, thanks, praises or chats."""
    if _COURTESY.search(said.words):
        return True
    odds = acts(said.spoken)
    return not said.asks and not marks(said.words) and odds["other"] + odds["joke"] >= CHATTER


def is_chatter(reading: TurnReading) -> bool:
    """Whether a turn consists of courtesies and nothing is done in it."""
    spoken = bool(reading.user) and not (reading.tools or reading.pasted or reading.foreign)
    return spoken and all(map(is_courtesy, reading.user)) and agreed(reading) is None
