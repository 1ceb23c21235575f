"""The topic of the conversation, what was said and done in the turn, the next step, and open questions."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from acc.keyless.acts import acts
from acc.keyless.earlier import Line
from acc.keyless.goals import is_bare_turn, is_goal
from acc.keyless.lookalikes import REFUSED, is_hearsay, is_past_or_fancy
from acc.keyless.outcomes import outcomes_in
from acc.keyless.reading import Said, TurnReading, text_of
from acc.keyless.room import Room
from acc.keyless.rules import Rule, makes_rule
from acc.keyless.sentences import fit, tidy
from acc.keyless.words import NEW_TOPIC
from acc.text.patterns import any_of, cue, one_of
from acc.text.wording import is_assent, marks, stems

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

_NEXT = any_of(
    r"\bnext(?:,| step| I| up| we)\b|\bI(?:'ll| will| am going to|'m going to)\b",
    r"\b(?:then|after that|afterwards),? (?:I|we)\b|\bwe(?:'ll| will) (?:then|next)\b",
    r"\blet's (?:then|next|start|continue)\b|\bto follow\b|\b\w+ follows\b",
)
"""Cues of an announced step."""

_OPEN = any_of(
    r"\b" + one_of(
        """not sure, unsure, unclear, unknown, unconfirmed, undecided, uncertain, tbc, tbd,
        to be (?:confirmed|decided|determined), no idea, hard to say, awaiting, pending, still open,
        waiting (?:for|on), outstanding, remains to be seen, haven't heard, my guess,
        I (?:believe|suspect|guess|assume), no (?:answer|reply|word) (?:yet|so far|from)"""
    ),
    r"\b(?:don't|do not|doesn't|cannot|can't|couldn't) (?:yet )?(?:know|tell|confirm|say)\b",
    r"(?:\bnot|n't) (?:yet )?(?:been )?" + one_of(
        "confirmed, answered, decided, verified, replied, checked, found"
    ),
    r"\bnot yet (?:known|clear|in|here|decided|confirmed)\b",
)  # fmt: skip
"""Cues that something is unknown or has not arrived."""

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
Level = Literal["low", "medium", "high"]


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


def next_step(reading: TurnReading) -> Line | None:
    """The agent's last announced step."""
    for said in reversed(reading.agent):
        barred = said.asks or _NO_STEP.search(said.words) or REFUSED.search(said.words)
        if _NEXT.search(said.words) and not barred:
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
        if _OPEN.search(said.words) and not is_hearsay(said.words):
            yield Gap(tidy(said.text), _level(said.words), said.ref)
    for said in reading.agent:
        asks = said.asks and len(said.words.split()) >= 4
        doubts = _OPEN.search(said.words) and not said.asks
        if (asks or doubts) and not REFUSED.search(said.words):
            yield Gap(tidy(said.text), _level(said.words), said.ref)


def _level(words: str) -> Level:
    if _HIGH.search(words):
        return "high"
    return "low" if _LOW.search(words) else "medium"


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
