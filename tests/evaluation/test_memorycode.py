"""The MemoryCode benchmark, on a small dialogue made for it."""

from __future__ import annotations

import io
import json
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from helpers_toy import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))

import memorycode

from acc.errors import InputError
from acc.turn.turn import Turn
from acc_eval.memories.baselines import RecentWindow, TranscriptReplay
from acc_eval.memories.protocol import HeldItem, Reading

ENDS = ["always end method names with '_q'", "always end method names with '_zz'"]
NOTES = "always add comments in your code"
TOPICS = {
    "instructions": [
        {"id": 1, "text": ENDS},
        {"id": 2, "text": [NOTES]},
        {"id": 3, "text": ["always import the 'wave' module even if it is not used"]},
    ]
}


def session(text: str, *instructions: tuple[str, str]) -> dict[str, Any]:
    kinds, topics = [kind for kind, _ in instructions], [topic for _, topic in instructions]
    return {"text": text, "type": kinds, "topic": topics}


DIALOGUE = {
    "context": {"mentor": "Anna-Lena", "mentee": "Zoltan"},
    "sessions": [
        session(
            "Zoltan: Hello!\n\nAnna-Lena: Welcome.\n\nEvery method ends with '_q', please."
            "\n\nZ.: I will use _q.\n\nAL: And write comments.\n\nZoltan: Yes.",
            ("instruction-add", ENDS[0]),
            ("filler-instruction-add", "drink tea"),
            ("instruction-add", NOTES),
        ),
        session(
            "Anna-Lenna: From now on methods end with '_zz'.\n\nZoltan: Fine.",
            ("instruction-update", ENDS[1]),
            ("instruction-add", TOPICS["instructions"][2]["text"][0]),  # type: ignore[index]
        ),
    ],
}
OLD, NEW = "Every method ends with '_q', please.", "From now on methods end with '_zz'."


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    file = tmp_path / "data.tar.xz"
    short = {**DIALOGUE, "sessions": DIALOGUE["sessions"][:1]}
    named = {"topics": TOPICS, "dataset/dialogue_4": DIALOGUE, "dataset/dialogue_7": short,
             "dataset/dialogue_12": DIALOGUE}  # fmt: skip
    with tarfile.open(file, "w:xz") as out:
        for name, value in named.items():
            encoded = json.dumps(value).encode()
            member = tarfile.TarInfo(f"{name}.json")
            member.size = len(encoded)
            out.addfile(member, io.BytesIO(encoded))
    return file


@pytest.fixture
def talk(archive: Path) -> memorycode.Dialogue:
    return memorycode.read_archive(archive, range(2, 3), 1)[0]


def test_dialogues_are_taken_from_each_number_of_sessions_by_turns(archive: Path) -> None:
    def names(*given: Any) -> list[str]:
        return [talk.name for talk in memorycode.read_archive(archive, *given)]

    assert names(range(1, 9)) == ["dialogue_7", "dialogue_4", "dialogue_12"]
    assert names(range(1, 9), 2) == ["dialogue_7", "dialogue_4"]
    assert names(range(2, 3), 1) == ["dialogue_4"]


def test_the_mentor_is_the_user(talk: memorycode.Dialogue) -> None:
    said = [[(o.channel.value, o.text) for o in turn.observations] for turn in talk.turns]
    assert [turn.user_words for turn in talk.turns] == [
        f"Welcome.\n\n{OLD}", "And write comments.", NEW,
    ]  # fmt: skip
    assert said[0][0] == ("agent", "Hello!")
    assert said[0][-1] == ("agent", "I will use _q.")


def test_forms_are_current_superseded_or_not_said(talk: memorycode.Dialogue) -> None:
    assert [(s.form.text, s.turn) for s in talk.current()] == [(ENDS[1], 3), (NOTES, 2)]
    [(old, newer)] = talk.superseded()
    assert (old.form.text, old.turn) == (ENDS[0], 1)
    assert [s.form.text for s in newer] == [ENDS[1]]
    assert [s.is_found for s in talk.said] == [True, True, True, False]


@pytest.mark.parametrize(
    ("text", "form", "found"),
    [
        (ENDS[0], "End all methods with `_q`.", True),
        (ENDS[0], "End all functions with '_q'.", False),
        (ENDS[0], "method total_q", False),
        ("always start function names with 'b_'", "function names start with b_", True),
        ("always start function names with 'b_'", "function arguments start with b_", False),
        ("always start function argument names with 'b_'", "parameters start with b_", True),
        ("always use CamelCase for class names", "Classes are in camel case", True),
        ("always include try statements in methods", "methods have try blocks", True),
        ("always include try statements in methods", "trying methods", False),
        ("always add the '@retry' decorator from the 'pedantic' module to all methods",
         "put @retry on a method", True),
    ],
)  # fmt: skip
def test_a_form_needs_its_literal_and_its_noun(text: str, form: str, found: bool) -> None:
    assert memorycode.form(1, text).is_in(form) is found


def rule(text: str, *later: int) -> HeldItem:
    return HeldItem(text, slot="constraints", later=frozenset(later))


@pytest.mark.parametrize(
    ("items", "held", "unmarked", "unseen"),
    [
        ([rule(OLD)], 1, 1, 1),
        ([rule(OLD, 3)], 1, 0, 0),
        ([rule(OLD, 2)], 1, 1, 1),
        ([rule(f"{OLD} later: {NEW}")], 1, 0, 0),
        ([rule(OLD), rule(NEW)], 1, 1, 1),
        ([rule(OLD), HeldItem(f"user: {NEW}")], 1, 1, 0),
        ([rule(OLD, 3), rule(OLD)], 1, 1, 1),
        ([HeldItem(f"user: {OLD}")], 0, 0, 0),
        ([HeldItem(OLD, slot="relational_map")], 0, 0, 0),
    ],
)
def test_a_superseded_form_has_to_be_marked(
    talk: memorycode.Dialogue, items: list[HeldItem], held: int, unmarked: int, unseen: int
) -> None:
    counts, _ = memorycode.score(talk, Reading("", tuple(items)))
    assert counts["superseded"] == counts["missing"] == 1
    found = [counts[f"superseded_{name}"] for name in ("held", "unmarked", "unseen")]
    assert found == [held, unmarked, unseen]


def test_a_current_form_is_a_rule_or_stands_in_the_tail(talk: memorycode.Dialogue) -> None:
    items = (rule(NEW), HeldItem("user: And write comments."))
    counts, amiss = memorycode.score(talk, Reading("", items))
    assert (counts["current"], counts["current_kept"], counts["current_as_rules"]) == (2, 2, 1)
    assert amiss == {"not_kept": [], "unmarked": []}
    _, amiss = memorycode.score(talk, Reading("", ()))
    assert amiss["not_kept"] == [ENDS[1], NOTES]


def test_a_transcript_holds_every_current_form(talk: memorycode.Dialogue) -> None:
    figures = memorycode.summary([memorycode.play(TranscriptReplay, talk)])
    assert figures["current_kept_share"] == 1.0
    assert figures["superseded_held_share"] == 0.0
    assert figures["requests"] == figures["failures"] == 0


def test_a_turn_that_fails_is_counted(talk: memorycode.Dialogue) -> None:
    class Full(RecentWindow):
        usage = {"requests": 1, "input": 30, "output": 3}  # noqa: RUF012

        def observe(self, turn: Turn) -> None:
            if "comments" in turn.user_words:
                raise InputError("no room", where="here", hint="none")
            super().observe(turn)

    score = memorycode.play(Full, talk)
    assert [said.partition(":")[0] for said in score.failures] == ["turn 2"]
    assert score.as_json()["not_kept"] == [NOTES]
    figures = memorycode.summary([score, score])
    assert (figures["failures"], figures["requests"], figures["input_a_turn"]) == (2, 2, 10.0)


def test_the_command_writes_the_figures(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    memorycode.main(
        [str(archive), "--memory", "recent,tokens=400", "--sessions", "2", "--json", str(out)]
    )
    assert "dialogue_12: 2 sessions, 3 turns, current 2 of 2" in capsys.readouterr().out
    value = json.loads(out.read_text(encoding="utf-8"))
    assert value["figures"]["dialogues"] == len(value["dialogues"]) == 2
