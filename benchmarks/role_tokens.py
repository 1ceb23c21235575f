"""Tokens that each of eight agents reads: role memories and a board against broadcasting the transcript.

    python benchmarks/role_tokens.py [--rounds 12] [--max-tokens 1600] [--json]

A scripted conversation, without a model. The agents are those of the paper's case study and speak in the order of
its Algorithm 2 (`Selection`), ten turns a round. A worker's turn has one choice of its own among talk, and
the user gives and lifts rules on the way. Three ways to build what the speaker reads:

broadcast  the task, the role and all turns so far: every agent gets the whole transcript
newest     Algorithm 1 with an empty memory: the task, the role and the newest turns that fit --max-tokens
roles      Algorithm 1 with the role's own memory and the board (`RoleMemory`), in the same --max-tokens

Beside the tokens: the share of the speaker's own earlier choices, and of the user's rules in force, whose words stand
in what it reads; and rules that were lifted and are read without the words that lifted them. Keyless updates cost no
tokens; a model's would.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from statistics import fmean
from typing import Any, NamedTuple

from pipeline_study.protocol import Selection

from acc.board.board import Board
from acc.board.roles import Role, RoleMemory, construct_context
from acc.controller.controller import MemoryController
from acc.errors import InputError
from acc.state.model import CompressedCognitiveState
from acc.text.tokens import utf8_quarter
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

TASK = (
    "Design a data pipeline for a self-driving application on AWS: 6 cameras (.jpg), 1 lidar (.pcd.bin), 5 radars. "
    "Agree on one architecture, justify the choices, and estimate resources, effort and costs."
)
TEXTS = {
    "BOA": "You check the design against the business requirements.",
    "DEA": "You determine the data processing needs.",
    "MLA": "You provide the machine learning implementation.",
    "IA": "You design the cloud infrastructure.",
    "CDA": "You facilitate the discussion and say FINALIZE once all accept.",
    "KIA": "You summarize each round of the discussion.",
    "ERA": "You evaluate the proposed solutions.",
    "DJE": "You write the final output.",
}
COMPONENTS = {"BOA": "Budget", "DEA": "Glue", "MLA": "Trainer", "IA": "Cluster"}
RULES = (
    ("Never store raw camera images outside eu-west-1.", 1),
    ("Always encrypt radar data with customer-managed keys.", 3),
    ("Never use spot instances for inference.", 5),
)
LIFTED = (
    "Never use spot instances for inference.",
    7,
    "The rule on spot instances for inference no longer applies.",
)
"""A rule, the round in which the user lifts it, and the words."""

TALK = (
    "The lidar stream is bursty, so the buffer in front of it has to absorb a minute of traffic at least.",
    "I agree with the last speaker on most points, but the retention of the intermediate files is still open.",
    "Latency matters more than throughput for the inference path, and the training path can wait for the night.",
    "We should compare the managed service with our own cluster before anybody commits to either of them.",
    "Monitoring has to cover each hop, since a silent drop of radar frames would spoil the labels downstream.",
)


class Spoken(NamedTuple):
    """One turn of the conversation."""

    round: int
    speaker: str
    text: str
    choice: str
    users: str


def conversation(rounds: int) -> Iterator[Spoken]:
    """The turns, in the order of Algorithm 2."""
    select, speakers = Selection(), list[str]()
    for turn in range(10 * rounds):
        speaker = select(speakers) or ""
        speakers.append(speaker)
        number = turn // 10 + 1
        choice = f"{COMPONENTS[speaker]}-{number}" if speaker in COMPONENTS else ""
        own = f"I propose {choice} because it serves {number + 3} streams. " if choice else ""
        talk = " ".join(TALK[(turn + step) % len(TALK)] for step in range(4))
        yield Spoken(
            number, speaker, f"{own}{talk} This was point {turn + 1}.", choice, _users(turn, number)
        )


def _users(turn: int, number: int) -> str:
    """What the user says before the turn: rules and the lifting, to whoever speaks then."""
    if turn % 10 != 1:
        return ""
    rules = [rule for rule, at in RULES if at == number]
    return " ".join([*rules, LIFTED[2]] if number == LIFTED[1] else rules)


class Read(NamedTuple):
    """What one way gave a speaker in one turn."""

    tokens: int
    choices: float | None
    rules: float | None
    lifted: int


def measured(parts: list[str], memory: str, spoken: Spoken, made: list[str]) -> Read:
    """The tokens of ``parts``, and which choices and rules stand in them."""
    text = "\n".join(parts)
    in_force = [
        rule.rstrip(".")
        for rule, at in RULES
        if at < spoken.round and not _is_lifted(rule, spoken.round)
    ]
    return Read(
        sum(map(utf8_quarter, parts)),
        _share([f"{choice} " in text or f"{choice}," in text for choice in made]),
        _share([rule in text for rule in in_force]),
        int(
            _is_lifted(LIFTED[0], spoken.round) and LIFTED[0] in memory and LIFTED[2] not in memory
        ),
    )


def _is_lifted(rule: str, number: int) -> bool:
    return rule == LIFTED[0] and number > LIFTED[1]


def _share(found: list[bool]) -> float | None:
    """The share of what was found; None if there was nothing to find."""
    return fmean(found) if found else None


def _mean(shares: Iterable[float | None]) -> float:
    known = [share for share in shares if share is not None]
    return round(fmean(known), 2) if known else 1.0


class Tried(NamedTuple):
    """Exact ids of private evidence that other roles asked for, and how many of the texts they got."""

    asked: int
    opened: int


def opened_by_others(team: RoleMemory, said: dict[str, list[str]]) -> Tried:
    """Let each role ask for each text of each other role, by every form of its id."""
    asked = opened = 0
    for owner, texts in said.items():
        agent = team.thread(owner).agent
        for turn, text in enumerate(texts, 1):
            forms = (f"a{turn}", f"{owner}/a{turn}", f"{agent}/main/a{turn}", f"/a{turn}")
            for reader in (role for role in said if role != owner):
                for ref in forms:
                    asked += 1
                    with suppress(InputError):
                        own = team.memory(reader).open_evidence(ref, thread=team.thread(reader))
                        opened += own.text == text
    return Tried(asked, opened)


def run(rounds: int, max_tokens: int) -> tuple[list[dict[str, Any]], Tried]:
    """One row for each round: what the speakers read, as means over its turns. And what others opened."""
    memory: MemoryController[CompressedCognitiveState]
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, store="none") as memory,
    ):
        return _played(memory, rounds, max_tokens)


def _played(
    memory: MemoryController[CompressedCognitiveState], rounds: int, max_tokens: int
) -> tuple[list[dict[str, Any]], Tried]:
    roles = [Role(name, text) for name, text in TEXTS.items()]
    team = RoleMemory(memory, roles, thread="pipeline", board=Board("pipeline"))
    history: list[str] = []
    made: dict[str, list[str]] = {name: [] for name in TEXTS}
    reads: dict[int, dict[str, list[Read]]] = {}
    for spoken in conversation(rounds):
        if spoken.users:
            history.append(f"user: {spoken.users}")
        name, text = spoken.speaker, TEXTS[spoken.speaker]
        ways = {
            "broadcast": [TASK, text, *history],
            "newest": construct_context(TASK, text, history, max_tokens),
            "roles": team.context(name, TASK, history, max_tokens),
        }
        row = reads.setdefault(spoken.round, {way: [] for way in ways})
        for way, parts in ways.items():
            row[way].append(measured(parts, parts[1], spoken, made[name]))
        user = [Observation(channel=Channel.USER, text=spoken.users)] if spoken.users else []
        said = Observation(channel=Channel.AGENT, text=spoken.text)
        team.update(name, Turn(observations=(*user, said)))
        history.append(f"{name}: {spoken.text}")
        made[name] += [spoken.choice] if spoken.choice else []
    said_by = {name: [t.text for t in conversation(rounds) if t.speaker == name] for name in TEXTS}
    rows = [{"round": number, "turn": 10 * number, **_means(row)} for number, row in reads.items()]
    return rows, opened_by_others(team, said_by)


def _means(row: dict[str, list[Read]]) -> dict[str, Any]:
    return {
        way: {
            "tokens": round(fmean(r.tokens for r in found)),
            "most_tokens": max(r.tokens for r in found),
            "own_choices": _mean(r.choices for r in found),
            "rules": _mean(r.rules for r in found),
            "lifted_still_read": sum(r.lifted for r in found),
        }
        for way, found in row.items()
    }


def main() -> None:
    """Print the table, or everything as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--max-tokens", type=int, default=1_600)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows, tried = run(options.rounds, options.max_tokens)
    if options.json:
        print(
            json.dumps(
                {"max_tokens": options.max_tokens, "private": tried._asdict(), "rounds": rows},
                indent=1,
            )
        )
        return
    print("| turn | tokens a turn: broadcast | newest turns | role memory + board | own choices read: newest; roles "
          "| rules read: newest; roles | lifted rules still read: roles |")  # fmt: skip
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in (r for r in rows if r["round"] in (1, 2, 4, 8, options.rounds)):
        broadcast, newest, roles = (row[way] for way in ("broadcast", "newest", "roles"))
        print(
            f"| {row['turn']} | {broadcast['tokens']:,} | {newest['tokens']:,} | {roles['tokens']:,} "
            f"| {newest['own_choices']:.2f}; {roles['own_choices']:.2f} | {newest['rules']:.2f}; {roles['rules']:.2f} "
            f"| {roles['lifted_still_read']} |"
        )
    total = {
        way: sum(10 * row[way]["tokens"] for row in rows)
        for way in ("broadcast", "newest", "roles")
    }
    named = ", ".join(f"{way} {tokens:,}" for way, tokens in total.items())
    print(
        f"\nall turns: {named} tokens; roles / broadcast {total['roles'] / total['broadcast']:.2f}"
    )
    print(
        f"private texts that other roles asked for by an exact id: {tried.asked:,}; opened: {tried.opened}"
    )


if __name__ == "__main__":
    main()
