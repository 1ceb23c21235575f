"""What a domain may ask of its records: choices, required fields, a key, trusted sources; and later versions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from core_threads import Thread

from acc.compress.prompt import instruction
from acc.errors import ConfigurationError, SchemaError
from acc.state.items import Fact, Name, Question, Record, Text
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Cadence, Gate, Policy
from acc.state.proposal import wire_schema
from acc.state.slots import Slot
from acc.turn.observations import Trust


class Job(Record):
    """A job."""

    key = ("job",)
    job: Name
    stage: Literal["failed", "running"]
    finding: Text = ""


class Window(Record):
    """When a site may be touched."""

    key = ("site",)
    site: Name
    hours: Text


JOBS = Slot("jobs", "j", "Jobs", places=3, guidance="jobs by their id")
WINDOWS = Slot(
    "windows", "w", "Windows", places=3, least=Trust.USER, lesser="beside", guidance="hours by site"
)


class Clinic(CompressedCognitiveState):
    """Jobs and windows."""

    jobs: Annotated[tuple[Job, ...], JOBS] = ()
    windows: Annotated[tuple[Window, ...], WINDOWS] = ()


def clinic(*answers: Any) -> Thread:
    return Thread(*answers, schema=Clinic)


def test_the_prompt_and_the_wire_name_choices_and_who_may_say_it() -> None:
    text = instruction(Clinic)
    assert (
        '[{"job", "stage": failed|running, "finding", "refs", "id"}], jobs by their id.\n' in text
    )
    assert "hours by site. Only from what user or operator said; refs of nobody else." in text
    stage = wire_schema(Clinic)["properties"]["jobs"]["items"]["properties"]["stage"]
    assert stage == {"type": "string", "enum": ["failed", "running"]}


@pytest.mark.parametrize(
    "job",
    [
        {"job": "lab-3", "stage": "exploded"},
        {"job": "lab-3"},
        {"job": "", "stage": "failed"},
    ],
)
def test_what_does_not_fit_is_refused_and_the_next_request_says_why(job: Any) -> None:
    thread = clinic({"jobs": [{**job, "refs": ["u1"]}]})
    step = thread.say(("user", "Job lab-3 exploded."))
    assert thread.state.jobs == ()
    assert thread.reasons() == ["malformed"]
    assert "malformed" in step.state.feedback[0]


def test_a_record_about_the_same_takes_the_place_of_the_held_one() -> None:
    thread = clinic(
        {"jobs": [{"job": "lab-3", "stage": "failed", "finding": "disk", "refs": ["t1"]}]},
        {
            "jobs": [{"job": "LAB-3", "stage": "running", "refs": ["t2"], "id": "n1"}],
            "minor": ["n1"],
        },
    )
    thread.say(("tool", "lab-3 failed: disk"))
    thread.say(("tool", "lab-3 runs"))
    assert [(j.id, j.stage, j.finding, j.sources) for j in thread.state.jobs] == [
        ("j1", "running", "disk", ("t2",))
    ]
    assert thread.state.jobs[0].minor, "the name that the answer gave it names the held one"


def test_what_rests_on_lesser_sources_is_refused() -> None:
    thread = clinic(
        {
            "windows": [
                {"site": "Northside", "hours": "07-19", "refs": ["u1"]},
                {"site": "Northside", "hours": "00-24", "refs": ["t1"]},
                {"site": "Westside", "hours": "00-24", "refs": ["u1", "d1"]},
                {"site": "Eastside", "hours": "00-24", "refs": []},
            ]
        }
    )
    thread.say(("user", "Northside: 07-19."), ("tool", "00-24"), ("document", "00-24"))
    assert [(w.site, w.hours) for w in thread.state.windows] == [("Northside", "07-19")]
    assert thread.reasons().count("untrusted") == 3


def test_one_lesser_value_stands_beside_the_better_one_however_often_it_is_said() -> None:
    class Accounts(CompressedCognitiveState):
        windows: Annotated[
            tuple[Window, ...], Slot("windows", "w", "Windows", places=5, lesser="beside")
        ] = ()

    def said(hours: str, ref: str) -> Any:
        return {"windows": [{"site": "Northside", "hours": hours, "refs": [ref]}]}

    thread = Thread(said("07-19", "u1"), said("00-24", "t2"), said("00-25", "t3"), schema=Accounts)
    thread.say(("user", "Northside: 07-19."))
    thread.say(("tool", "00-24"))
    thread.say(("tool", "00-25"))
    assert [w.hours for w in thread.state.windows] == ["07-19", "00-25"]


@pytest.mark.parametrize(
    ("item", "rules", "fault"),
    [
        (Question, Slot("open", "q", "Open questions", places=99), "room"),
        (Question, Slot("open", "q", "Open questions", places=9, share=0.9), "room"),
        (Fact, Slot("open", "q", "Open questions", places=9, share=0.2), "holds Fact"),
        (Question, Slot("gaps", "q", "Open questions", places=9, share=0.2), "key or prefix"),
    ],
)
def test_a_domain_tightens_an_inherited_slot_and_never_loosens_it(
    item: type[Record], rules: Slot, fault: str
) -> None:
    with pytest.raises(SchemaError, match=fault):
        type(
            "Loose", (CompressedCognitiveState,),
            {"__annotations__": {"uncertainty_signal": Annotated[tuple[item, ...], rules]},  # type: ignore[valid-type]
             "uncertainty_signal": ()},
        )  # fmt: skip
    tight = Slot("open", "q", "Open questions", places=9, share=0.2)

    class Tight(CompressedCognitiveState):
        uncertainty_signal: Annotated[tuple[Question, ...], tight] = ()

    assert Tight.slots()["uncertainty_signal"].rules.places == 9


def test_a_slot_that_asks_for_trust_keeps_it_in_a_subclass() -> None:
    with pytest.raises(SchemaError, match="lesser sources"):

        class Loose(Clinic):
            windows: Annotated[
                tuple[Window, ...], Slot("windows", "w", "Windows", places=3, lesser="beside")
            ] = ()


def test_what_changes_commits_changes_the_fingerprint() -> None:
    class Other(Record):
        key = ("job",)
        job: Name
        stage: Literal["failed", "running", "done"]
        finding: Text = ""

    def fingerprint(item: type[Record], rules: Slot) -> str:
        schema: Any = type(
            "Clinic", (CompressedCognitiveState,),
            {"__annotations__": {"jobs": Annotated[tuple[item, ...], rules]}, "jobs": ()},  # type: ignore[valid-type]
        )  # fmt: skip
        return Policy(schema=schema).fingerprint

    strict = Slot("jobs", "j", "Jobs", places=3, least=Trust.USER)
    found = {fingerprint(item, rules) for item in (Job, Other) for rules in (JOBS, strict)}
    assert len(found) == 4


class TestALaterVersion:
    def held(self) -> Any:
        thread = clinic(
            {
                "rules": [{"quote": "Never rerun lab-3", "ref": "u1"}],
                "jobs": [{"job": "lab-3", "stage": "failed", "finding": "disk", "refs": ["u1"]}],
                "windows": [{"site": "Northside", "hours": "07-19", "refs": ["u1"]}],
            }
        )
        thread.say(("user", "Never rerun lab-3. It failed: disk. Northside is open 07-19."))
        return thread.state

    def test_what_does_not_fit_it_is_kept_as_facts_with_the_reason(self) -> None:
        class Phased(Record):
            job: Name
            phase: Text

        later: Any = type(
            "Clinic", (CompressedCognitiveState,),
            {"__annotations__": {"jobs": Annotated[tuple[Phased, ...], JOBS]}, "jobs": (),
             "__module__": __name__},
        )  # fmt: skip
        before = self.held()
        state = later.load(before.canonical())
        assert [rule.words.text for rule in state.constraints] == ["Never rerun lab-3."]
        assert [(f.text, f.sources, f.trust) for f in state.relational_map] == [
            ("jobs: job lab-3; stage failed; finding disk", ("u1",), Trust.USER),
            ("windows: site Northside; hours 07-19", ("u1",), Trust.USER),
        ]
        assert "no such slot" in " ".join(state.feedback)
        assert "phase" in " ".join(state.feedback)
        assert state.hash == before.hash, "the thread goes on from the stored state"
        thread = Thread(schema=later)
        thread.state = state
        thread.say(("user", "Go on."))
        assert len(thread.state.relational_map) == 2
        assert thread.state.parent == before.hash
        assert later.load(thread.state.canonical()) == thread.state


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (Policy, "speakers", "alice"), (Policy, "max_tokens", "1600"), (Policy, "max_tokens", None),
        (Policy, "pinned_share", "0.7"), (Policy, "schema", None), (Policy, "schema", int),
        (Policy, "digest_key", "s"), (Policy, "cadence", 2_000), (Policy, "gate", None),
        (Cadence, "compress_over", "2000"), (Cadence, "compress_over", None), (Cadence, "tool_share", -5),
        (Cadence, "request_tokens", float("nan")), (Gate, "tokens", "300"), (Gate, "opens", -1.0),
        (Gate, "news", float("nan")), (Gate, "least", True),
    ],
)  # fmt: skip
def test_a_bound_of_another_type_is_told_at_once(kind: Any, name: str, value: Any) -> None:
    with pytest.raises(ConfigurationError, match=name):
        kind(**{name: value})


def test_speakers_may_come_in_any_collection() -> None:
    assert Policy(speakers=["ann", "bob"]).speakers == frozenset({"ann", "bob"})  # type: ignore[arg-type]
