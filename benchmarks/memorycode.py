"""MemoryCode: do a mentor's current rules stand in what the agent reads, and do replaced ones stand as if in force?

    python benchmarks/memorycode.py ARCHIVE --memory SPEC --sessions 10-20 --dialogues 12 [--json FILE]

ARCHIVE is MemoryCode (github.com/for-ai/MemoryCode, Apache-2.0) as a tar: ``topics.json`` and
``dataset/dialogue_*.json``. None of it is part of this project. SPEC is a memory as in ``acc eval probe``.

A dialogue has sessions of a mentor, who is the user here, and a mentee, the agent. In a session the mentor lays down
or changes instructions for code ("always end variable names with '_x'") among talk of other things. A turn is one
message of the mentor with the mentee's answer. All sessions are observed one after the other, then what the memory
holds is scored. No model judges.

**What counts.** The data names the instructions of each session, and ``topics.json`` the forms of each. The form that
was said last is current; its earlier forms are superseded, unless they are the same. The fillers, among them
"filler instructions" about tools and habits, have no expression in the data and are left out.

**How a form is found in a text**, all of it in one item of a state or in one message:

- its literal: what the data quotes (``_x``, ``chx``, ``locale``, ``@retry``), exactly, not as a part of a longer
  identifier. A form without quotes has a word of its own instead (``annotat``, ``docstring``, ``CamelCase``...);
- the noun of what it is about: function, method, class, variable, attribute, or function argument (also "parameter").
  "function" before "argument" is no function. Imports and comments need no noun.

"Start" and "end" need no words: the underscore of a literal tells them. A sentence with two rules can match a pair
that was never said; a rule with its noun in the sentence before does not match unless the item names the noun.

A form that no single message of the mentor in its session matches is left out of all figures, so that a transcript
holds all current forms; it still supersedes. Of the 3,623 forms of the development half, 16 are (the session lacks
the words, or names the noun in another message); 3,465 stand in a single sentence of their message. The current
forms are those of the data's own ``history_regex`` in all 180 dialogues.

**Figures**, pooled over the dialogues:

- ``current_kept``: current forms found in a rule item, or in a message that the agent reads (slot None);
- ``current_as_rules``: found in a rule item;
- ``superseded_held``: superseded forms found in a rule item;
- ``superseded_unmarked``: those of them where some such item has no mark: no later words from the turn of a newer form
  or after it stand beside it, and no newer form stands in the item itself;
- ``superseded_unseen``: those of them whose newer forms no message of the tail shows either.

A turn in which a memory fails (say, its rules exceed its bound) is counted and left out; the next one follows.
"""

from __future__ import annotations

import argparse
import json
import logging
import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain, islice, zip_longest
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from acc.errors import AccError
from acc.text.tokens import utf8_quarter
from acc.turn.turn import Turn
from acc_eval.memories.protocol import CONSTRAINTS, EvaluatedMemory, HeldItem, Reading
from acc_eval.memories.specs import read_spec

# --- the forms of instructions ------------------------------------------------------------

_WORDS = {
    "annotations": "annotat", "try statements": r"(?<!\w)try(?!\w)", "assert": "assert",
    "docstrings": "doc[- ]?string", "comments": "comment", "digit": "digit|number|numeral",
    "UPPERCASE": "upper[- ]?case|all[- ]caps", "CamelCase": "(?:camel|pascal)[- ]?case",
    "snake_case": "snake[-_ ]?case",
}  # fmt: skip
"""Expressions for forms without a literal, by a word of the form."""

_NOUNS = {
    "function argument": "argument|parameter",
    "function": "function(?!s?['’]?s?[- ](?:argument|parameter))",
    "variable": "variable", "method": "method", "attribute": "attribute", "class": "class",
}  # fmt: skip
"""Expressions for what a form is about, by its noun; the first noun in a form counts."""


class Form(NamedTuple):
    """One wording of an instruction, and the expressions that all have to be found."""

    instruction: int
    text: str
    expressions: tuple[re.Pattern[str], ...]

    def is_in(self, text: str) -> bool:
        """Whether ``text`` holds the form."""
        return all(expression.search(text) for expression in self.expressions)


def form(instruction: int, text: str) -> Form:
    """Make a form of the data's text."""
    literal = re.search(r"'@?([^']+)'", text)
    if literal:
        sought = re.compile(rf"(?<!\w){re.escape(literal[1])}(?!\w)")
    else:
        sought = re.compile(next(e for w, e in _WORDS.items() if w in text), re.IGNORECASE)
    about = "" if "import" in text else re.sub("'[^']*'", "", text)
    nouns = [re.compile(e, re.IGNORECASE) for noun, e in _NOUNS.items() if noun in about]
    return Form(instruction, text, (sought, *nouns[:1]))


# --- the dialogues ------------------------------------------------------------------------


class Said(NamedTuple):
    """A form and the turn in which the mentor says it.

    Where no message of the session matches it, it is not found, and ``turn`` is the session's first.
    """

    form: Form
    turn: int
    is_found: bool = True


class Dialogue(NamedTuple):
    """A dialogue as turns, with the forms that its mentor says, in their order."""

    name: str
    sessions: int
    turns: Sequence[Turn]
    said: Sequence[Said]

    def current(self) -> list[Said]:
        """The last form of each instruction, if it is found."""
        last = {said.form.instruction: said for said in self.said}
        return [said for said in last.values() if said.is_found]

    def superseded(self) -> Iterator[tuple[Said, list[Said]]]:
        """Each form that is no longer current, as it was last said, with the newer ones."""
        last = {said.form: said for said in self.said}
        for old in last.values():
            newer = [
                said
                for said in self.said
                if said.form.instruction == old.form.instruction and said.turn > old.turn
            ]
            if newer and old.is_found:
                yield old, newer


_SPEAKER = re.compile(r"\s*([^:\n]{1,40}):\s*")


def messages(text: str, mentor: str, mentee: str) -> Iterator[tuple[str, str]]:
    """The speakers and messages of a session.

    The data misspells some names ("Sylvieu") and shortens others ("A."). What names nobody goes on
    with the message before.
    """
    speaker, said = "", ""
    for paragraph in text.split("\n\n"):
        heading = _SPEAKER.match(paragraph)
        name = _speaker(heading[1], mentor, mentee) if heading else ""
        if heading and name:
            if speaker and said.strip():
                yield speaker, said.strip()
            speaker, said = name, paragraph[heading.end() :]
        else:
            said += f"\n\n{paragraph}"
    if speaker and said.strip():
        yield speaker, said.strip()


def _speaker(name: str, mentor: str, mentee: str) -> str:
    """The one who is meant by ``name``; empty for nobody."""
    if close := get_close_matches(name.strip(), [mentor, mentee], 1, 0.65):
        return close[0]
    letters = name.replace(".", "").strip()
    meant = [each for each in (mentor, mentee) if letters in (each[0], _initials(each))]
    return meant[0] if len(meant) == 1 else ""


def _initials(name: str) -> str:
    return "".join(part[0] for part in name.split("-"))


def dialogue(name: str, value: Mapping[str, Any], forms: Mapping[str, Form]) -> Dialogue:
    """Read a dialogue of the data. ``forms`` has the forms by their text."""
    mentor, mentee = value["context"]["mentor"], value["context"]["mentee"]
    chat: list[dict[str, str]] = []
    said: list[Said] = []
    number = 0
    for session in value["sessions"]:
        turns: dict[int, str] = {}
        first = number + 1
        for speaker, text in messages(session["text"], mentor, mentee):
            chat.append({"role": "user" if speaker == mentor else "assistant", "content": text})
            if speaker == mentor:
                number += 1
                turns[number] = text
        for kind, topic in zip(session["type"], session["topic"], strict=True):
            if kind.startswith("instruction-"):
                found = [at for at, text in turns.items() if forms[topic].is_in(text)]
                said.append(Said(forms[topic], found[0] if found else first, bool(found)))
    return Dialogue(name, len(value["sessions"]), Turn.all_from_messages(chat), said)


def read_archive(file: Path, sessions: range, dialogues: int | None = None) -> list[Dialogue]:
    """The dialogues with a number of sessions in ``sessions``: the first ones of each number by turns."""
    values: dict[str, Any] = {}
    with tarfile.open(file) as archive:
        for member in archive:
            if member.name.endswith(".json") and (opened := archive.extractfile(member)):
                values[Path(member.name).stem] = json.load(opened)
    instructions = values.pop("topics")["instructions"]
    forms = {text: form(each["id"], text) for each in instructions for text in each["text"]}
    by_length: dict[int, list[str]] = {length: [] for length in sessions}
    for name in sorted(values, key=lambda name: (len(name), name)):
        if len(values[name]["sessions"]) in by_length:
            by_length[len(values[name]["sessions"])].append(name)
    in_turn = (name for names in zip_longest(*by_length.values()) for name in names if name)
    return [dialogue(name, values[name], forms) for name in islice(in_turn, dialogues)]


# --- scores -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """The score of a memory on a dialogue.

    Attributes:
        counts: Hits by figure, and the forms: ``current``, ``superseded``, ``missing``.
        amiss: Current forms that are not kept, and superseded ones that are not marked.
        reads: Tokens that the agent reads, after each turn.
        failures: Turns in which the memory failed, with the reasons.
        usage: What its model was asked; empty without a model.
    """

    dialogue: str
    sessions: int
    counts: Counter[str]
    amiss: Mapping[str, Sequence[str]]
    reads: Sequence[int]
    failures: Sequence[str]
    usage: Mapping[str, int]

    def as_json(self) -> dict[str, Any]:
        """The score as plain JSON values."""
        return {
            "dialogue": self.dialogue, "sessions": self.sessions, "turns": len(self.reads),
            **self.counts, **self.amiss, "reads_mean": round(mean(self.reads), 1),
            "reads_max": max(self.reads), "failures": list(self.failures),
            "usage": dict(self.usage),
        }  # fmt: skip


def play(make: Callable[[], EvaluatedMemory], talk: Dialogue) -> Score:
    """Observe a dialogue with a new memory, and score what it then holds."""
    memory, reads, failures = make(), [], []
    try:
        for number, turn in enumerate(talk.turns, 1):
            try:
                memory.observe(turn)
            except AccError as error:
                failures.append(f"turn {number}: {error}")
            reading = memory.held()
            reads.append(utf8_quarter(reading.text))
        failures += getattr(memory, "failures", ())
        counts, amiss = score(talk, reading)
        usage = dict(getattr(memory, "usage", None) or {})
    finally:
        memory.close()
    return Score(talk.name, talk.sessions, counts, amiss, reads, failures, usage)


def score(talk: Dialogue, reading: Reading) -> tuple[Counter[str], dict[str, list[str]]]:
    """Count the forms of a dialogue in what the agent reads; the counts, and what is amiss."""
    rules = [item for item in reading.items if item.slot == CONSTRAINTS]
    tail = [item for item in reading.items if item.slot is None]
    counts = Counter(dict.fromkeys(_COUNTS, 0))
    counts["missing"] = sum(not said.is_found for said in talk.said)
    amiss: dict[str, list[str]] = {"not_kept": [], "unmarked": []}
    for said in talk.current():
        as_rule, in_tail = bool(_holding(said, rules)), bool(_holding(said, tail))
        counts.update(current=1, current_as_rules=as_rule, current_kept=as_rule or in_tail)
        amiss["not_kept"] += [] if as_rule or in_tail else [said.form.text]
    for old, newer in talk.superseded():
        holding = _holding(old, rules)
        unmarked = not all(_is_marked(item, newer) for item in holding)
        unseen = unmarked and not any(_holding(each, tail) for each in newer)
        counts.update(
            superseded=1, superseded_held=bool(holding), superseded_unmarked=unmarked,
            superseded_unseen=unseen,
        )  # fmt: skip
        amiss["unmarked"] += [old.form.text] if unmarked else []
    return counts, amiss


_COUNTS = (
    "current", "current_kept", "current_as_rules",
    "superseded", "superseded_held", "superseded_unmarked", "superseded_unseen",
)  # fmt: skip


def _holding(said: Said, items: Iterable[HeldItem]) -> list[HeldItem]:
    return [item for item in items if said.form.is_in(item.text)]


def _is_marked(item: HeldItem, newer: Sequence[Said]) -> bool:
    """Whether an item shows that a newer form was said."""
    has_later = max(item.later, default=0) >= min(said.turn for said in newer)
    return has_later or any(said.form.is_in(item.text) for said in newer)


def summary(scores: Sequence[Score]) -> dict[str, float | int | None]:
    """The figures over all dialogues: shares of pooled counts, and means a turn."""
    total: Counter[str] = Counter()
    usage: Counter[str] = Counter()
    for each in scores:
        total.update(each.counts)
        usage.update(each.usage)
    reads = list(chain.from_iterable(each.reads for each in scores))
    found: dict[str, float | int | None] = {
        "dialogues": len(scores), "turns": len(reads),
        **{name: total[name] for name in ("current", "superseded", "missing")},
    }  # fmt: skip
    for name in _COUNTS:
        whole = name.partition("_")[0]
        if name != whole:
            found[f"{name}_share"] = round(total[name] / total[whole], 4) if total[whole] else None
    found["reads_mean"] = round(mean(reads), 1) if reads else None
    found["reads_max"] = max(reads, default=None)
    found["failures"] = sum(len(each.failures) for each in scores)
    found["requests"] = usage["requests"]
    for kind in ("input", "output"):
        found[f"{kind}_a_turn"] = round(usage[kind] / len(reads), 1) if reads else None
    return found


# --- the command line ---------------------------------------------------------------------


def _sessions(text: str) -> range:
    """Parse N or N-M."""
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("archive", type=Path, metavar="ARCHIVE")
    parser.add_argument("--memory", default="acc", metavar="SPEC")
    parser.add_argument("--sessions", type=_sessions, default=range(10, 21), metavar="N-M")
    parser.add_argument("--dialogues", type=int, metavar="N")
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args(arguments)
    spec = read_spec(given.memory)
    scores = []
    for talk in read_archive(given.archive, given.sessions, given.dialogues):
        scores.append(play(spec.make, talk))
        done = scores[-1].counts
        print(
            f"{talk.name}: {talk.sessions} sessions, {len(talk.turns)} turns, "
            f"current {done['current_kept']} of {done['current']}, "
            f"superseded without mark {done['superseded_unmarked']} of {done['superseded']}",
            flush=True,
        )
    figures = summary(scores)
    print(f"\n{spec.label}")
    for name, value in figures.items():
        print(f"{name:26} {value}")
    if given.json:
        whole = {
            "memory": spec.as_json(), "figures": figures,
            "dialogues": [each.as_json() for each in scores],
        }  # fmt: skip
        given.json.write_text(json.dumps(whole, indent=1, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    logging.getLogger("acc").setLevel(logging.ERROR)  # what a memory refuses is in its scores
    main()
