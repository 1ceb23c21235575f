"""Agents, sentences, and compressors that say what a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from acc.state.reading import Reading

from acc.board.memory import BoardMemory, SharedStep
from acc.controller.controller import MemoryController
from acc.journal import ThreadKey
from acc.state.proposal import Proposal, ProposedLater, ProposedPin, ProposedRecord
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

TRIAGE = ThreadKey("t1", user="ann", agent="triage")
FIXER = ThreadKey("t2", user="ann", agent="fixer")

RULE = "Never restart db-2 without asking me."
LIFT = "You may restart db-2 whenever you like now; the rule about db-2 is lifted."
ILL = "Never tell anybody that I am ill with cancer."


def said(*parts: tuple[str, str], name: str = "") -> Turn:
    """Return a turn of channel and text pairs."""
    return Turn(
        observations=tuple(
            Observation(channel=Channel(c), text=t, name=name if c in ("tool", "document") else "")
            for c, t in parts
        )
    )


def board_texts(shared: BoardMemory, key: ThreadKey = TRIAGE) -> list[str]:
    """Return every text that ever came to the board."""
    board = shared.board.key_of(key)
    return [each.message.text for each in shared.memory.journal.messages(board, also_open=True)]


def everything_on(shared: BoardMemory, key: ThreadKey = TRIAGE) -> str:
    """Return all that the journal holds of the board, as an export has it."""
    board = shared.board.key_of(key)
    threads = [each for each in shared.memory.threads() if each == board]
    return "\n".join(line for each in threads for line in shared.memory.journal.export(each))


def rules(shared: BoardMemory, key: ThreadKey = TRIAGE) -> list[str]:
    """Return the rules of the board."""
    state = shared.head(key).state
    return [rule.text_of for rule in state.constraints] if state is not None else []


def is_clean(memory: MemoryController[Any], *boards: Any) -> bool:
    """Whether every commit of agents and boards recomputes."""
    report = memory.journal.verify([memory.policy, *(board.policy for board in boards)])
    return bool(report.is_clean)


def speak(shared: BoardMemory, key: ThreadKey, *texts: str, to: Any = "") -> SharedStep:
    """Say texts to an agent, one turn each."""
    step: Any = None
    for text in texts:
        step = shared.step(None, Turn.said(text), thread=key, to=to)
    return step


Rule = Callable[[Reading], Proposal]
Sharing = Callable[..., BoardMemory]


def takes_all(reading: Reading) -> Proposal:
    """Propose every user's or operator's message that was not read yet as a rule, and every other as a fact."""
    new = [m for m in reading.messages if m.status != "read"]
    lawful = [m for m in new if m.channel in (Channel.USER, Channel.OPERATOR)]
    others = [m for m in new if m not in lawful]
    return Proposal(
        rules=tuple(ProposedPin(m.text, m.ref) for m in lawful),
        records=tuple(facts((m.text, m.ref) for m in others)),
    )


def facts(pairs: Iterable[tuple[str, str]]) -> Iterable[ProposedRecord]:
    """Return facts with one source each."""
    return (ProposedRecord("relational_map", {"text": text}, (ref,)) for text, ref in pairs)


def ends_first(reading: Reading) -> Proposal:
    """Say that the newest message of the user ends the first rule, but for "Next."."""
    users = [m for m in reading.messages if m.status != "read" and m.channel is Channel.USER]
    new = [m for m in users if m.text != "Next."]
    held = reading.state.constraints
    if not new or not held:
        return Proposal()
    return Proposal(later=(ProposedLater(held[0].id, new[-1].text, new[-1].ref, ends=True),))
