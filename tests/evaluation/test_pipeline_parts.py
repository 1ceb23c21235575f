"""The parts of the case study: who speaks, what is read, the rule agents, the rule judge, the tests of differences."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from acc.errors import ConfigurationError
from acc.text.tokens import utf8_quarter
from benchmarks.pipeline_study.judging import METRICS
from benchmarks.pipeline_study.memories import (
    Broadcast,
    Context,
    Nothing,
    RoleMemories,
    Window,
    memory_bound,
)
from benchmarks.pipeline_study.protocol import converse
from benchmarks.pipeline_study.rule_agents import Luck, answer, gap, known
from benchmarks.pipeline_study.rule_judge import verdicts
from benchmarks.pipeline_study.rule_points import COMPONENTS, POINTS, said_in
from benchmarks.pipeline_study.running import Condition, Outcome
from benchmarks.pipeline_study.statistics import compared, mean
from benchmarks.pipeline_study.team import AGENTS, TASK, WORKERS, system_prompt, user_prompt

TEMPLATES = {code: agent.template for code, agent in AGENTS.items()}
TEXT = frozenset({"text"})


def _speak(role: str, context: Context, talk: int = 0) -> str:
    prompts = system_prompt(AGENTS[role]), user_prompt(context)
    return str(answer(*prompts, TEXT, Luck(1, talk))["text"])


def test_the_agents_speak_in_the_order_of_algorithm_2() -> None:
    flags = iter(["on"] * 11 + ["FINALIZE"])

    def says(role: str, _: Context) -> str:
        return next(flags) if role != "DJE" else "the design"

    talk = converse(TASK, Broadcast(), says, most_turns=40)
    spoke = [turn.speaker for turn in talk.said]
    first = ["CDA", "BOA", "CDA", "DEA", "CDA", "MLA", "CDA", "IA", "KIA", "ERA", "CDA", "BOA"]
    assert spoke == [*first, "DJE"]
    assert talk.agreed
    assert talk.document == "the design"


def test_without_an_agreement_the_document_is_written_with_the_last_turn() -> None:
    talk = converse(TASK, Nothing(), lambda role, _: role, most_turns=7)
    assert len(talk.said) == 7
    assert talk.said[-1].speaker == "DJE"
    assert not talk.agreed


@pytest.mark.parametrize("limit", [TASK, f"{TASK}{'x' * 40}"])
def test_what_memories_of_turns_read(limit: str) -> None:
    turns = [f"DEA: {letter * 32}" for letter in "abc"]
    fits = utf8_quarter(limit) - utf8_quarter(TASK)
    assert Nothing().context("DEA", TASK, turns).turns == turns[-1:]
    assert Broadcast().context("DEA", TASK, turns).turns == turns
    read = Window(utf8_quarter(limit)).context("DEA", TASK, turns)
    assert len(read.turns) == fits // utf8_quarter(turns[0])
    assert read.memory is None


def test_a_role_keeps_its_own_words_alone_and_reads_them_when_the_turns_are_gone() -> None:
    memory = RoleMemories(TEMPLATES, 1_200, 200)
    mine, other = (
        next(p for p in POINTS if p.role == role and p.kind == "choice") for role in ("DEA", "MLA")
    )
    memory.spoke("DEA", mine.sentence)
    memory.spoke("MLA", other.sentence)
    long = ["BOA: " + "x" * 8_000]
    context = memory.context("DEA", TASK, long)
    assert context.turns == []
    assert said_in(context.memory or "") == (mine,)
    assert memory.context("DJE", TASK, long).memory == ""
    memory.close()


def test_roles_that_hear_keep_the_words_of_others() -> None:
    memory = RoleMemories(TEMPLATES, 1_200, 200, hearing=True)
    said = next(p for p in POINTS if p.role == "MLA" and p.kind == "drawback")
    memory.spoke("MLA", said.sentence)
    assert said in said_in(memory.context("DJE", TASK, []).memory or "")
    memory.close()


def test_a_memory_leaves_room_for_turns() -> None:
    bound = memory_bound(TASK, 1_024, 800)
    assert 64 <= bound < (1_024 - utf8_quarter(TASK)) / 2
    assert memory_bound(TASK, 10_000, 800) == 800
    with pytest.raises(ConfigurationError, match="leave a role's memory"):
        memory_bound(TASK, 400, 800)


def test_the_words_of_each_statement_tell_it_from_every_other() -> None:
    assert {point.component for point in POINTS} == set(COMPONENTS)
    assert {point.role for point in POINTS} == set(WORKERS)
    assert [said_in(point.sentence) for point in POINTS] == [(point,) for point in POINTS]


@pytest.mark.parametrize("role", ["CDA", "KIA", "ERA", "DJE"])
def test_who_knows_no_statement_says_only_what_it_reads(role: str) -> None:
    empty, full = (
        Context(TASK, None, []),
        Context(TASK, None, [f"IA: {p.sentence}" for p in POINTS]),
    )
    assert said_in(_speak(role, empty)) == ()
    if role in ("KIA", "DJE"):
        assert said_in(_speak(role, full)) == POINTS


def test_a_worker_repeats_what_it_no_longer_reads_and_accepts_what_it_reads() -> None:
    first = _speak("IA", Context(TASK, None, []))
    assert said_in(first)
    assert _speak("IA", Context(TASK, None, ["CDA: Please go on."])) == first
    later = _speak("IA", Context(TASK, None, [f"IA: {first}"]))
    assert set(said_in(later)).isdisjoint(said_in(first))
    everything = [f"IA: {point.sentence}" for point in POINTS]
    assert _speak("IA", Context(TASK, None, everything)) == "I ACCEPT the proposal."


def test_a_worker_says_again_what_the_evaluator_misses_once() -> None:
    mine = known("IA", 1)
    everything = [f"IA: {point.sentence}" for point in mine]
    asked = [*everything, f"ERA: {gap(mine[0].component, mine[0].kind)}"]
    again = _speak("IA", Context(TASK, None, asked))
    assert said_in(again) == (mine[0],)
    assert _speak("IA", Context(TASK, None, [*asked, f"IA: {again}"])) == "I ACCEPT the proposal."


def test_runs_of_the_rule_agents_differ_and_each_can_be_repeated() -> None:
    drawn = [tuple(known("IA", seed)) for seed in range(1, 11)]
    assert len(set(drawn)) == 10
    assert drawn == [tuple(known("IA", seed)) for seed in range(1, 11)]


def test_talk_adds_words_and_no_statement() -> None:
    nothing = Context(TASK, None, [])
    terse, talkative = _speak("IA", nothing), _speak("IA", nothing, talk=3)
    assert said_in(terse) == said_in(talkative)
    assert len(talkative) > 3 * len(terse)


def _scores(design: str) -> list[int]:
    found = verdicts(design)
    return [found[metric]["score"] for metric in METRICS]


def test_the_rule_judge_fails_what_says_nothing() -> None:
    titles = {f"Component {n}": {"Name": name, "Scaling": ""} for n, name in enumerate(COMPONENTS)}
    talk = "It scales and recovers because Amazon Kinesis saves 100 dollars; a drawback is 3."
    for design in ("", "no", talk, "[]", "{", json.dumps({"Platform": "AWS"}), json.dumps(titles)):
        assert _scores(design) == [1] * 5, design


def test_the_rule_judge_counts_each_needed_component_once() -> None:
    words = "Use Amazon Kinesis, because it scales and recovers. It costs 9 dollars and saves; a drawback is 30 ms."
    one = {"Component 1": {"Name": "ingestion", "a": words * 9}}
    every = {f"Component {n}": {"Name": name, "a": words} for n, name in enumerate(COMPONENTS)}
    assert _scores(json.dumps(one)) == [1 + round(9 / 8)] * 5
    assert _scores(f"Here it is:\n```json\n{json.dumps(every)}\n```") == [10] * 5


def test_the_rule_judge_wants_each_kind_of_statement() -> None:
    for kind, metric in (("scaling", 0), ("recovery", 1), ("cost", 3), ("drawback", 4)):
        said = [f"IA: {point.sentence}" for point in POINTS if point.kind != kind]
        scores = _scores(_speak("DJE", Context(TASK, None, said)))
        assert scores[metric] < 10, kind
        assert [s for at, s in enumerate(scores) if at != metric] == [10] * 4, kind


A, B = Condition("window", 1), Condition("roles", 1)


def _outcomes(condition: Condition, scores: Sequence[int | None]) -> list[Outcome]:
    return [
        Outcome(
            condition, run, {"CDA": 1}, 0, 9, True, None if s is None else dict.fromkeys(METRICS, s),
            0, (),
        )
        for run, s in enumerate(scores, 1)
    ]  # fmt: skip


def test_a_difference_in_all_of_ten_runs_has_the_least_p_there_is() -> None:
    runs = [*_outcomes(A, [1] * 10), *_outcomes(B, [2] * 10)]
    found = compared(runs, A, B, "usability")
    assert (found.first, found.second, found.runs) == (1, 2, 10)
    assert found.signed_rank == pytest.approx(2 / 2**10)
    assert found.rank_sum < 0.001


def test_no_difference_is_none_and_chance_is_not_significant() -> None:
    same = compared([*_outcomes(A, [3] * 10), *_outcomes(B, [3] * 10)], A, B, "usability")
    assert (same.signed_rank, same.rank_sum) == (1, 1)
    runs = [*_outcomes(A, [3, 4, 5, 6]), *_outcomes(B, [4, 3, 6, 5])]
    assert compared(runs, A, B, "usability").signed_rank == 1
    one = compared([*_outcomes(A, [3]), *_outcomes(B, [4])], A, B, "usability")
    assert one.signed_rank != one.signed_rank


def test_pairs_are_used_as_pairs() -> None:
    """Runs that vary much, and the second memory always a little better: only the paired test sees it."""
    runs = [*_outcomes(A, range(1, 10)), *_outcomes(B, range(2, 11))]
    found = compared(runs, A, B, "usability")
    assert found.signed_rank < 0.01
    assert found.rank_sum > 0.2


def test_a_run_without_a_verdict_is_left_out_of_both_sides() -> None:
    runs = [*_outcomes(A, [1, 9, 1]), *_outcomes(B, [2, None, 2])]
    found = compared(runs, A, B, "usability")
    assert (found.first, found.second, found.runs) == (1, 2, 2)
    assert mean(runs, B, "usability") == 2
    assert compared(runs, A, B, "turns").runs == 3


@pytest.mark.parametrize(
    ("text", "priced", "detailed"),
    [("costs 1400 dollars", 1, 0), ("costs $1,400.50", 1, 0), ("costs $ 9", 1, 0), ("costs 20 EUR", 1, 0),
     ("takes 200 milliseconds", 0, 1), ("takes 5 ms and 9 dollars", 1, 1)],
)  # fmt: skip
def test_the_rule_judge_takes_no_price_for_a_detail(text: str, priced: int, detailed: int) -> None:
    every = {f"Component {n}": {"Name": name, "a": text} for n, name in enumerate(COMPONENTS)}
    scores = dict(zip(METRICS, _scores(json.dumps(every)), strict=True))
    half = 1 + round(9 / 2)
    assert scores["cost_effectiveness"] == (half if priced else 1)
    assert scores["usability"] == (half if detailed else 1)
