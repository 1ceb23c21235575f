"""A shared board: what is lost among many writers, what others can read of private words, and what a board costs.

    python benchmarks/board.py [--interleavings 500] [--turns 20] [--json]

Lost updates: eight agents, each with a `BoardMemory` of its own, share rules and lift one, all at once.
Each read and each write of theirs is one move, and the moves come in random order. A write whose board has moved on is
made anew. An update is lost if it is not in the last state, and its writer was not told so.

Private words: six agents are each given a rule for all, and then a secret by the user and another one by a tool. Each
tries to read those of the others: in what it is shown, by every ref of the owner's thread and of the board, in
everything that the board's thread ever held, and by recall.

Costs: milliseconds of a step without a model, with a board and without one, in one process; then steps a second of
eight agents in four processes on one folder. Each fifth turn is a rule for all.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from acc.board.board import Board, SharedStep, To
from acc.board.memory import BoardMemory
from acc.controller.controller import MemoryController
from acc.driving import Io
from acc.errors import AccError, ConflictError
from acc.journal import ThreadKey
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedPin
from acc.state.reading import Reading
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

WRITERS = 8
FIRST = "Never restart db-0 without asking me."
LIFT = "You may restart db-0 whenever you like now; the rule about db-0 is lifted."


def thread_of(agent: int, run: int = 0) -> ThreadKey:
    """Return the thread of an agent."""
    return ThreadKey(f"t{run}", user="bob", agent=f"agent-{agent}")


# --- lost updates -------------------------------------------------------------------------


def takes_all(reading: Reading) -> Proposal:
    """Propose each new message as a rule; a lifting is none."""
    new = [m for m in reading.messages if m.status != "read" and m.text != LIFT]
    return Proposal(rules=tuple(ProposedPin(m.text, m.ref) for m in new))


def update(writer: int) -> tuple[Turn, To, str]:
    """Return what a writer hears, to whom it is said, and the words that have to arrive; none of the lifting."""
    if writer == 0:
        return Turn.said(LIFT), "", ""
    if writer <= 3:
        text = f"Always take zone-{writer} for pool {writer}."
        return Turn(observations=(Observation(channel=Channel.OPERATOR, text=text),)), "", text
    text = f"Never restart host-{writer}."
    return Turn.said(text), "all", text


class Writer:
    """One agent's step, which goes on by one read or write at a time."""

    def __init__(self, shared: BoardMemory, writer: int, run: int) -> None:
        turn, to, self.words = update(writer)
        self.made: SharedStep | None = None
        self.conflicts = 0
        self._doing = shared._step(None, turn, thread=thread_of(writer, run), to=to, force=True)
        self._act: Callable[[], Any] = partial(next, self._doing)

    def moves(self) -> bool:
        """Do the next read or write; return False at the step's end."""
        try:
            effect = self._act()
        except StopIteration as stop:
            self.made = stop.value
            return False
        assert isinstance(effect, Io)
        try:
            done = effect.run()
        except ConflictError as error:
            self.conflicts += 1
            self._act = partial(self._doing.throw, error)
        else:
            self._act = partial(self._doing.send, done)
        return True

    def is_lost(self, last: str) -> bool:
        """Return whether the words are not in the last state, and the writer was not told so."""
        told = (*self.made.private, *self.made.warnings) if self.made is not None else ()
        return self.words not in last and not any(self.words in line for line in told)


def interleaved(memory: MemoryController[Any], rng: random.Random, run: int) -> tuple[int, int]:
    """Let the writers move in random order; return how many updates were lost, and how often a write was made anew."""
    board = Board(f"board-{run}")
    one = BoardMemory(memory, board)
    one.step(None, Turn.said(FIRST), thread=thread_of(WRITERS, run), to="all")
    writers = [Writer(BoardMemory(memory, board), n, run) for n in range(WRITERS)]
    waiting = list(writers)
    while waiting:
        writer = rng.choice(waiting)
        if not writer.moves():
            waiting.remove(writer)
    one.step(
        None, Turn.said("Go on."), thread=thread_of(WRITERS, run), force=True
    )  # ends what was lifted
    head: Any = one.head(thread_of(0, run)).state
    last = " | ".join(item.text_of for _, item in head.items())
    chain = list(memory.history(board.key_of(thread_of(0, run))))
    broken = sum(b.version != a.version + 1 for a, b in pairwise(chain))
    lost = broken + (FIRST in last) + sum(each.is_lost(last) for each in writers)
    return lost, sum(each.conflicts for each in writers)


def lost(interleavings: int) -> dict[str, Any]:
    """Count what is lost over so many random orders."""
    rng = random.Random(7)
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(
        folder, store="none", model=takes_all
    ) as memory:  # fmt: skip
        runs = [interleaved(memory, rng, run) for run in range(interleavings)]
        is_clean = memory.journal.verify([memory.policy, Board("b").policy]).is_clean
    return {
        "interleavings": interleavings, "writers": WRITERS, "lost": sum(n for n, _ in runs),
        "made_anew": sum(n for _, n in runs), "verify": "clean" if is_clean else "not clean",
    }  # fmt: skip


# --- what others can read -----------------------------------------------------------------


@dataclass
class Reach:
    """What agents could read: rules that reached them, and private texts that did."""

    rules: int = 0
    of_rules: int = 0
    leaks: int = 0
    tries: int = 0
    tokens: float = 0.0
    transcript: int = 0


def secrets_of(agent: int) -> tuple[str, str]:
    """Return what the user and a tool tell an agent alone."""
    return (
        f"The account of customer Quandt{agent} is 77-{agent}-4410.",
        f"vault entry vk-{agent}-9931",
    )


def told(agent: int, turn: int) -> tuple[Turn, To]:
    """Return a turn of an agent, and to whom the user speaks."""
    if turn == 0:
        return Turn.said(f"Never restart host-{agent}."), "all"
    if turn > 1:
        return Turn.said(f"Where are we with ticket {turn}?"), ""
    user, tool = secrets_of(agent)
    seen = (
        Observation(channel=Channel.USER, text=user),
        Observation(channel=Channel.TOOL, text=tool, name="vault"),
    )
    return Turn(observations=seen), ""


def private(agents: int = 6, turns: int = 8) -> Reach:
    """Let agents talk, and try to read what is not theirs."""
    found, shown, count = Reach(), dict[int, str](), Policy().counter
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        shared = BoardMemory(memory, Board("incident-42"))
        for turn, agent in ((t, a) for t in range(turns) for a in range(agents)):
            said, to = told(agent, turn)
            step = shared.step(None, said, thread=thread_of(agent), to=to, force=turn == 1)
            shown[agent] = step.text()
            found.transcript += sum(count(each.text) for each in said.observations)
        found.tokens = statistics.mean(count(text) for text in shown.values())
        found.of_rules = agents * agents
        found.rules = sum(f"host-{n}" in text for n in range(agents) for text in shown.values())
        for reader, owner in ((r, o) for r in range(agents) for o in range(agents) if r != o):
            texts = [shown[reader], *reachable(shared, reader, owner)]
            found.tries += len(texts)
            found.leaks += sum(
                any(secret in text for secret in secrets_of(owner)) for text in texts
            )
    return found


def reachable(shared: BoardMemory, reader: int, owner: int) -> Iterator[str]:
    """Yield what a reader gets by each ref of the owner's thread, of its own and of the board, and by recall."""
    memory, key, whose = shared.memory, thread_of(reader), thread_of(owner)
    board = shared.board.key_of(key)
    for message in memory.journal.messages(whose):
        own = message.message.ref
        for ref in (own, f"{whose}/{own}", f"{whose.agent}/{own}"):
            yield from (opened(memory, ref, thread) for thread in (key, board))
    yield "\n".join(memory.journal.export(shared.board.key_of(key)))
    head = memory.latest(key).head
    for secret in secrets_of(owner):
        yield from (each.evidence.text for each in memory.index.recall(head, secret))


def opened(memory: MemoryController[Any], ref: str, thread: ThreadKey) -> str:
    """Return what can be read; nothing if the memory refuses."""
    try:
        return memory.open_evidence(ref, thread=thread).text
    except AccError:
        return ""


# --- costs --------------------------------------------------------------------------------


def spoken(agent: int, turn: int) -> tuple[Turn, To]:
    """Return a turn of the load: each fifth is a rule for all."""
    if turn % 5 == 0:
        return Turn.said(f"Never restart host-{agent}-{turn}."), "all"
    return Turn.said(f"Host h-{agent}-{turn} runs version {turn}.2."), ""


def work(
    folder: str, agents: Sequence[int], turns: int, with_board: bool, start: float
) -> tuple[float, list[float]]:
    """Step some agents in this process; return when it ended, and the seconds of each step."""
    policy = Policy()
    board, taken = Board("b" if with_board else "none"), []
    with MemoryController.open(folder, store="none", policy=policy) as memory:
        shared = BoardMemory(memory, board)
        time.sleep(max(0.0, start - time.time()))
        for turn, agent in ((t, a) for t in range(turns) for a in agents):
            said, to = spoken(agent, turn)
            key, began = thread_of(agent, int(with_board)), time.perf_counter()
            if with_board:
                shared.step(None, said, thread=key, to=to)
            else:
                memory.step(None, said, thread=key, force=bool(to))
            taken.append(time.perf_counter() - began)
    return time.time(), taken


def costs(turns: int) -> dict[str, dict[str, float]]:
    """Measure one process, then four on one folder, with a board and without."""
    both, taken = (("without", False), ("with", True)), dict[str, list[float]]()
    for name, with_board in 2 * both:  # by turns, so that a busy machine slows both
        with tempfile.TemporaryDirectory() as folder:
            taken.setdefault(name, []).extend(work(folder, range(2), turns, with_board, 0.0)[1])
    median = {name: round(statistics.median(each) * 1000, 2) for name, each in taken.items()}
    found: dict[str, dict[str, float]] = {"step_ms": median, "steps_a_second_of_4_processes": {}}
    for name, with_board in both:
        context = multiprocessing.get_context("spawn")
        with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(4, context) as pool:
            start = time.time() + 8
            runs = [
                pool.submit(work, folder, (n, n + 4), turns, with_board, start) for n in range(4)
            ]
            took = max(run.result()[0] for run in runs) - start
            found["steps_a_second_of_4_processes"][name] = round(8 * turns / took, 1)
    return found


def main() -> None:
    """Print every figure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--interleavings", type=int, default=500)
    parser.add_argument("--turns", type=int, default=20, help="turns of each agent in the costs")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    reach = private()
    found: dict[str, Any] = {
        "lost_updates": lost(asked.interleavings),
        "rules_that_reached_agents": f"{reach.rules} of {reach.of_rules}",
        "private_texts_read_by_others": {"tries": reach.tries, "read": reach.leaks},
        "tokens": {
            "board, own state and tail": round(reach.tokens),
            "everybody's transcript": reach.transcript,
        },
        **costs(asked.turns),
    }
    if asked.json:
        print(json.dumps(found))
        return
    for name, value in found.items():
        shown = (
            ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        )
        print(f"{name.replace('_', ' '):<34} {shown}")


if __name__ == "__main__":
    main()
