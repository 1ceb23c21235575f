"""What the talk is about: the gist, revised when the user turns to something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acc.compressors.rules.acts import acts
from acc.compressors.rules.fields import text_of
from acc.compressors.rules.goal_cues import NEW_TOPIC
from acc.compressors.rules.goals import is_bare_turn, is_goal
from acc.compressors.rules.lifting import is_lifting
from acc.compressors.rules.lookalikes import is_hearsay
from acc.compressors.rules.outcomes import outcomes_in
from acc.compressors.rules.reading import Reading, Said
from acc.compressors.rules.replies import REFUSED
from acc.compressors.rules.room import Room
from acc.compressors.rules.sentences import fit, tidy
from acc.compressors.rules.standing import Rule, makes_rule
from acc.wording import marks, stems

LONGEST_TOPIC = 80
"""Characters of a topic: the goal that it is taken from stands in full beside it."""

LONGEST_NEWS = 100
"""The same of a topic that says what was done."""

Ruled = Mapping[Said, Sequence[Rule]]
"""The user's sentences, each with the rules in it."""


def revise_topic(reading: Reading, ruled: Ruled, room: Room) -> None:
    """The topic of the first message, then what was done last, or what the user turns to.

    It speaks of the present: what is said later of the same thing takes its place. Never a rule. A
    topic in the words of a rule that goes, goes with it.
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
        full = [said for said in full if not is_lifting(said.words)]
        found = [said for said in own if is_goal(said)] or full
    news = _news(reading, [said for said in own if not said.asks], room)
    if found:
        text = fit(tidy(found[0].text), LONGEST_TOPIC)
        room.add("semantic_gist", [found[0].ref], text=text)
    elif news is not None:
        text = fit(tidy(news.text).removeprefix("- "), LONGEST_NEWS)
        room.add("semantic_gist", [news.ref], text=text)


def _news(reading: Reading, own: Sequence[Said], room: Room) -> Said | None:
    """The last sentence that says what was done, or what is the case now with what the topic names."""
    spoken = [said for said in (*own, *reading.agent) if not said.asks]
    told = [s for s in spoken if not (REFUSED.search(s.words) or is_hearsay(s.words))]
    topics = [marks(text_of(item)) for item in room.held("semantic_gist")]
    done = [said for said in told if any(outcomes_in(said.words))]
    later = [
        said
        for said in told
        if any(topic & marks(said.words) for topic in topics)
        and acts(said.spoken)["fact"] >= STATES
    ]
    return next(reversed(done or later), None)


STATES = 0.5
"""Probability of a fact from which a sentence says what is the case."""
