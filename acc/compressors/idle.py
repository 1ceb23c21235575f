"""Turns with nothing to remember, for which no model has to be asked.

Rule: nothing is unread from earlier turns, and every observation is a courtesy: the user's of
the first list below, or the agent's of the second, at most `LONGEST` characters, and no more.
An assent ("yes", "ok", "great") is no courtesy: it may endorse what the agent proposed.
"""

from __future__ import annotations

import re

from acc.turn import Channel, Observation, Turn
from acc.wording import is_assent

LONGEST = 60

_USERS = (
    r"(?:many |much )?thanks(?: a lot| so much| again| a million| very much)?|thank you(?: so much| very much| again)?|"
    r"thx|ty|cheers|much appreciated|appreciate it|hi|hello|hey|good (?:morning|afternoon|evening|night)|"
    r"bye|goodbye|see you(?: later| tomorrow)?|have a (?:good|nice|great) (?:day|evening|weekend|one)|"
    r"you too|lol|haha"
)
_AGENTS = (
    r"(?:you(?:'|’)re|you are) (?:very |most )?welcome|my pleasure|any ?time|no problem|glad (?:i could|to) help|"
    r"happy to help|hi|hello|hey|good (?:morning|afternoon|evening|night)|bye|goodbye|see you(?: later| tomorrow)?|"
    r"have a (?:good|nice|great) (?:day|evening|weekend|one)|you too"
)
_BETWEEN = r"[\s.,!;:)\-–—🙂😊👋🙏]*"
_COURTESIES = {
    channel: re.compile(rf"{_BETWEEN}(?:(?:{said})\b{_BETWEEN})+", re.IGNORECASE)
    for channel, said in ((Channel.USER, _USERS), (Channel.AGENT, _AGENTS))
}


def is_idle(turn: Turn) -> bool:
    """Whether ``turn`` holds courtesies of user and agent alone, and nothing is unread."""
    has_user = any(o.channel is Channel.USER for o in turn.observations)
    return has_user and not turn.pending and all(map(_is_courtesy, turn.observations))


def _is_courtesy(said: Observation) -> bool:
    pattern = _COURTESIES.get(said.channel)
    if pattern is None or said.is_call or said.left_out or len(said.text) > LONGEST:
        return False
    return pattern.fullmatch(said.text.strip()) is not None and not is_assent(said.text)
