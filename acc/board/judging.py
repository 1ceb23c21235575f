"""A second reading of what is said to end a rule of the board.

It is asked before the words go there, so that two readings have to be wrong before private words do.
"""

from __future__ import annotations

from collections.abc import Sequence

from acc.board.batch import State
from acc.board.writing import Desk, Written, writing
from acc.commit.commit import commit
from acc.commit.endings import Judgement, claim_digest, is_to_judge
from acc.compress.protocol import Asking, AskingJudge, Claim, Judge
from acc.driving import Doing
from acc.errors import CompressionError
from acc.state.items import Pinned
from acc.state.policy import Policy
from acc.tail import Message
from acc.turn.observations import Channel


def judging(
    judge: Judge | AskingJudge, state: State, policy: Policy, read: Sequence[Message], at: str
) -> Asking[Sequence[Judgement]]:
    """Return what a second reading says of the open claims in a state.

    Raises:
        CompressionError: The judge failed.
    """
    claims = [
        Claim(item, _around(item, read), at)
        for _, item in state.items()
        if isinstance(item, Pinned) and is_to_judge(item, policy.lifting, at)
    ]
    if not claims:
        return ()
    if isinstance(judge, AskingJudge):
        return (yield from judge.judging(claims))
    try:
        return tuple(judge(claims))
    except Exception as error:
        said = f"the judge failed: {type(error).__name__}: {error}"
        raise CompressionError(said[:500], outcome="raised") from error


def settling(desk: Desk, written: Written, judged: Sequence[Judgement]) -> Doing[None]:
    """Write the verdicts on claims that stand on the board: they name rule and words, for any newer state."""
    items = [item for _, item in desk.state_of(written.latest).items() if isinstance(item, Pinned)]
    standing = {claim_digest(item) for item in items if item.ending and not item.ending.verdict}
    if any(each.digest in standing for each in judged):
        told = yield from writing(
            desk, lambda state, _: commit(state, desk.policy, number=state.turn, judgements=judged)
        )
        written.latest = told.latest
        written.commits += told.commits


def _around(item: Pinned, read: Sequence[Message]) -> tuple[Message, ...]:
    """Return the message that holds the words in question, with the agent's before it, as far as it was read now."""
    ending = item.ending
    words = ending.words if ending is not None and ending.words is not None else item.words
    before: tuple[Message, ...] = ()
    for message in read:
        if message.channel is words.channel and words.text in " ".join(message.text.split()):
            return (*before, message)
        if message.channel is Channel.AGENT and not message.observation.is_call:
            before = (message,)
    return ()
