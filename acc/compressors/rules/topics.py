"""What the talk is about: the gist, revised when the user turns to something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from acc.compressors.rules.fields import text_of
from acc.compressors.rules.goal_cues import NEW_TOPIC
from acc.compressors.rules.goals import is_bare_turn, is_goal
from acc.compressors.rules.lifting import is_lifting
from acc.compressors.rules.reading import Reading, Said
from acc.compressors.rules.room import Room
from acc.compressors.rules.sentences import fit, tidy
from acc.compressors.rules.standing import Rule, makes_rule
from acc.wording import stems

LONGEST_TOPIC = 80
"""Characters of a topic: the goal that it is taken from stands in full beside it."""

Ruled = Mapping[Said, Sequence[Rule]]
"""The user's sentences, each with the rules in it."""


def revise_topic(reading: Reading, ruled: Ruled, room: Room) -> None:
    """The topic of the first message, then of one in which the user turns to something else.

    Never a rule. A topic in the words of a rule that goes, goes with it.
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
    if found:
        text = fit(tidy(found[0].text), LONGEST_TOPIC)
        room.add("semantic_gist", [found[0].ref], text=text)
