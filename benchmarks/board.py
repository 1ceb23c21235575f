"""A shared board: what reaches whom, what is lost among many writers, what others can read, and what it costs.

    python benchmarks/board.py [--interleavings 10000] [--throughput] [--json]

Lost updates: 8 writers read the board, propose, check and swap in random order, purely. A writer whose check is out
of date checks anew, as `acc.board.writer` does. An update is lost if it is neither in the last state, nor ended by
somebody's words, nor told as a conflict; the chain of states is read for that. ``--real`` interleavings go through
a memory and its store instead.

Private items: each agent is told a secret, and a tool tells it another one. Every other agent then tries to read
them: in what it is shown, by every ref of the owner's thread and of the board, and by recall.

Throughput (``--throughput`` needs PostgreSQL): 8 agents in 4 processes, on a Chroma server with audit logs in a
PostgreSQL, with and without a board by turns, twice each.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from acc import InMemoryStore, MemoryController, Observation, Proposal, Settings, Thread, Turn
from acc.board import Board
from acc.board.half import HERE, Half
from acc.board.rebase import rebased
from acc.board.writer import Origin
from acc.errors import AccError
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import ProposedItem, Retirement
from acc.state.reasons import Note
from acc.stores.chroma.store import ChromaArtifactStore
from acc.turn.observations import Channel

WRITERS = 8
BOARD = Board("incident-42")
FIRST = "never restart db-0"

State = CompressedCognitiveState


def thread_of(agent: int) -> Thread:
    return Thread(thread="t", agent=f"agent-{agent}", user="bob")


# --- lost updates -------------------------------------------------------------------------


def rule(text: str, ref: str) -> Half:
    """A rule in the words of a user."""
    said = Observation(channel=Channel.USER, text=text, ref=ref)
    item = ProposedItem(slot="constraints", fields={"text": text, "quote": text}, cites=(ref,))
    return Half(Proposal(items=(item,)), (said,))


def update(writer: int) -> tuple[Half, str]:
    """What a writer adds, and the words by which it is found: rules, rival decisions, one lifting."""
    if writer == 0:
        words = "You may restart db-0 again."
        said = Observation(channel=Channel.USER, text=words, ref=f"{HERE}u{writer}")
        return Half(
            Proposal(retire=(Retirement(id="c1", cites=(f"{HERE}u{writer}",), quote=words),)),
            (said,),
        ), ""
    if writer <= 3:
        text = f"The region is zone-{writer}."
        said = Observation(channel=Channel.AGENT, text=text, ref=f"{HERE}a{writer}")
        fields = {
            "subject": "region",
            "predicate": "is",
            "object": f"zone-{writer}",
            "status": "decided",
        }
        item = ProposedItem(slot="decisions", fields=fields, cites=(f"{HERE}a{writer}",))
        return Half(Proposal(items=(item,)), (said,)), f"zone-{writer}"
    text = f"never restart host-{writer}"
    return rule(text, f"{HERE}u{writer}"), text


def first_rule() -> Half:
    return rule(FIRST, HERE + "u9")


class Chain:
    """The states of a board, with what each writer had read, to count what was lost."""

    def __init__(self, first: State) -> None:
        self.states = [first]
        self._read = [first]
        self._notes: list[Note] = []

    @property
    def head(self) -> State:
        return self.states[-1]

    def add(self, made: State | None, read: State, notes: Sequence[Note]) -> None:
        self._notes += notes
        if made is not None:
            self.states.append(made)
            self._read.append(read)

    def lost(self) -> int:
        """Count updates that left unseen or never came, links that do not follow, and a rule that was not lifted."""
        broken = sum(b.parent != a.hash for a, b in pairwise(self.states))
        told = " | ".join(f"{note.text} {note.detail}" for note in self._notes)
        wanted = [words for _, words in map(update, range(1, WRITERS))]
        return broken + (FIRST in said(self.head)) + sum(self._is_lost(w, told) for w in wanted)

    def _is_lost(self, words: str, told: str) -> bool:
        there = [words in said(state) for state in self.states]
        if there[-1]:
            return False
        left = [at for at in range(1, len(there)) if there[at - 1] and not there[at]]
        # Who replaces a value that it has read loses nothing: the newer value holds.
        unseen = [at for at in left if words not in said(self._read[at])]
        return bool(unseen) or (not any(there) and words not in told)


def said(state: State) -> str:
    return " | ".join(item.words for _, item in state.items())


def interleaved(rng: random.Random, first: State) -> tuple[int, int]:
    """Run the writers in random order; return the number of lost updates, and of checks made anew."""
    chain, again = Chain(first), 0
    read: dict[int, State] = {}
    checked: dict[int, tuple[State, State, tuple[Note, ...]]] = {}
    waiting = list(range(WRITERS))
    while waiting:
        writer = rng.choice(waiting)
        if writer not in read:
            read[writer] = chain.head
        elif writer not in checked:
            half, conflicts = rebased(update(writer)[0], read[writer], chain.head)
            checked[writer] = (chain.head, half.on(chain.head, BOARD.policy).state, conflicts)
        else:
            head, made, conflicts = checked.pop(writer)
            if head is not chain.head:  # compare-and-swap fails: check anew
                again += 1
                continue
            chain.add(made, read[writer], conflicts)
            waiting.remove(writer)
    return chain.lost(), again


def lost(interleavings: int) -> dict[str, Any]:
    rng, empty = random.Random(7), BOARD.policy.schema.empty()
    first = first_rule().on(empty, BOARD.policy).state
    runs = [interleaved(rng, first) for _ in range(interleavings)]
    return {
        "interleavings": interleavings,
        "writers": WRITERS,
        "lost": sum(lost for lost, _ in runs),
        "checked_anew": sum(again for _, again in runs),
    }


def really_lost(interleavings: int) -> int:
    """The same through a memory and its store: reads and writes of the writers in random order."""
    rng, count = random.Random(8), 0
    memory = MemoryController(InMemoryStore(), lambda *_: Proposal(), Settings())
    own = Origin(thread_of(0), State.empty())
    for number in range(interleavings):
        board = Board(f"board-{number}")
        boards, place = memory.board(board), board.thread_of(thread_of(0))
        boards.write(first_rule(), boards.head(place), place, own)
        chain = Chain(boards.head(place))
        read: dict[int, State] = {}
        waiting = list(range(WRITERS))
        while waiting:
            writer = rng.choice(waiting)
            if writer not in read:
                read[writer] = boards.head(place)
                continue
            done = boards.write(update(writer)[0], read[writer], place, own)
            chain.add(done.commit.state if done.commit else None, read[writer], done.conflicts)
            waiting.remove(writer)
        count += chain.lost()
    return count


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


def private(agents: int = 6, turns: int = 8) -> Reach:
    found, shown, spoken = Reach(), [], 0
    count = BOARD.policy.counter
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(Path(folder)) as memory:
        states: list[Any] = [None] * agents
        secrets = {
            n: (f"The account of customer Quandt{n} is 77-{n}-4410.", f"token tk-{n}-9931")
            for n in range(agents)
        }  # fmt: skip
        for turn in range(turns):
            for agent in range(agents):
                told = [Observation(channel=Channel.USER, text=f"Where are we with ticket {turn}?")]
                if turn == 0:
                    told = [Observation(channel=Channel.USER, text=f"Never restart host-{agent}.")]
                if turn == 1:
                    user, tool = secrets[agent]
                    told = [
                        Observation(channel=Channel.USER, text=user),
                        Observation(channel=Channel.TOOL, text=tool, name="vault"),
                    ]
                step = memory.step(
                    states[agent],
                    Turn(observations=tuple(told)),
                    thread=thread_of(agent),
                    board=BOARD,
                )
                states[agent] = step.state
                spoken += sum(count(o.text) for o in told)
                assert step.board is not None
                text = BOARD.rendered(step.board.state, step.state, memory.settings.policy)
                shown.append(text)
                if turn == turns - 1:
                    found.of_rules += agents
                    found.rules += sum(f"host-{n}" in text for n in range(agents))
        found.tokens = statistics.mean(map(count, shown[-agents:]))
        found.transcript = spoken
        for reader in range(agents):
            for owner in (n for n in range(agents) if n != reader):
                tries = [shown[-agents + reader]]
                tries += opened(memory, states[reader], reader, owner)
                query = Turn.said(secrets[owner][0])
                step = memory.step(states[reader], query, thread=thread_of(reader), board=BOARD)
                tries += [e.text for e in step.evidence if e.text != query.observations[0].text]
                found.tries += len(tries)
                # A reader that says the words itself, as the query does, has read nothing.
                found.leaks += sum(any(s in text for s in secrets[owner]) for text in tries)
    return found


def opened(memory: MemoryController, state: State, reader: int, owner: int) -> list[str]:
    """What a reader gets by naming every id and ref of the owner's thread, as its own, another's and the board's."""
    with memory._locked_log(thread_of(owner)) as log:
        refs = {(a.ref, a.id) for a in log.branch("main").artifacts}
    key, board = thread_of(owner).key, memory.board(BOARD)
    texts = []
    for ref, id_ in refs:
        for named in (id_, f"{key}:{ref}", f"{key[:8]}/{ref}"):
            texts += text_of(
                lambda named=named: memory.open_evidence(named, state, thread=thread_of(reader))
            )
            texts += text_of(
                lambda named=named: board.open_evidence(
                    named, thread=BOARD.thread_of(thread_of(reader))
                )
            )
    place = BOARD.thread_of(thread_of(reader))
    with board._locked_log(place) as log:
        texts += [a.text for a in log.branch("main").artifacts]
    return texts


def text_of(read: Any) -> list[str]:
    try:
        return [read()]
    except AccError:
        return [""]


# --- throughput ---------------------------------------------------------------------------


def work(
    where: tuple[str, str], agents: Sequence[int], turns: int, board: Board | None, start: float
) -> tuple[float, float]:
    """Step some agents by turns in this process; return when the first turn began and the last one ended."""
    server = urlsplit(where[0])
    store = ChromaArtifactStore.server(str(server.hostname), int(server.port or 0))
    with MemoryController(store, settings=Settings(audit=where[1])) as memory:
        memory.step(None, Turn.said("Hello."), thread=Thread(thread=f"warm-{agents[0]}", user="x"))
        states: dict[int, Any] = {}
        time.sleep(max(0.0, start - time.time()))
        began = time.time()
        for turn in range(turns):
            for agent in agents:
                said = f"Host h-{agent}-{turn} runs version {turn}.2."
                if turn % 5 == 0:
                    said = f"Never restart host-{agent}-{turn}."
                thread = Thread(thread=f"t{board is None}", agent=f"agent-{agent}", user="bob")
                states[agent] = memory.step(
                    states.get(agent), Turn.said(said), thread=thread, board=board
                ).state
        return began, time.time()


def throughput(turns: int) -> dict[str, float]:
    import services

    found: dict[str, list[float]] = {"without": [], "with": []}
    with tempfile.TemporaryDirectory(prefix="board-") as folder:
        Path(folder).chmod(0o755)
        chroma, database = (
            services.chroma(Path(folder) / "chroma"),
            services.PostgreSQL(Path(folder) / "pg"),
        )
        try:
            chroma.start()
            database.start()
            where = (
                f"http://127.0.0.1:{chroma.port}",
                database.address.replace("//acc@", f"//acc:{database.password}@"),
            )
            context = multiprocessing.get_context("spawn")
            for name, board in 2 * (("without", None), ("with", BOARD)):
                if board is not None:
                    board = Board(f"board-{len(found[name])}")
                with ProcessPoolExecutor(4, context) as pool:
                    start = time.time() + 20
                    runs = [
                        pool.submit(work, where, (n, n + 4), turns, board, start) for n in range(4)
                    ]
                    times = [run.result() for run in runs]
                took = max(end for _, end in times) - min(began for began, _ in times)
                found[name].append(8 * turns / took)
        finally:
            database.stop()
            chroma.stop()
    return {name: round(statistics.mean(rates), 2) for name, rates in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--interleavings", type=int, default=10_000)
    parser.add_argument("--real", type=int, default=200)
    parser.add_argument(
        "--turns", type=int, default=10, help="turns of each agent in the throughput"
    )
    parser.add_argument("--throughput", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    found: dict[str, Any] = {"lost_updates": lost(asked.interleavings)}
    found["lost_updates_in_a_memory"] = {
        "interleavings": asked.real,
        "lost": really_lost(asked.real),
    }
    reach = private()
    found["rules_that_reached_agents"] = f"{reach.rules} of {reach.of_rules}"
    found["private_texts_read_by_others"] = {"tries": reach.tries, "read": reach.leaks}
    found["tokens_an_agent_reads"] = {
        "board_and_own_state": round(reach.tokens), "everybodys_transcript": reach.transcript,
    }  # fmt: skip
    if asked.throughput:
        found["turns_a_second"] = throughput(asked.turns)
    if asked.json:
        print(json.dumps(found))
        return
    print(f"{'what':<34} measured")
    for name, value in found.items():
        shown = (
            ", ".join(f"{k} {v}" for k, v in value.items()) if isinstance(value, dict) else value
        )
        print(f"{name.replace('_', ' '):<34} {shown}")


if __name__ == "__main__":
    main()
