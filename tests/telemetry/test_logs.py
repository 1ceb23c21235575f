"""Log lines: one a step, a few that alert, and never what was said."""

from __future__ import annotations

import asyncio
import logging
import re
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from helpers_telemetry import Exported, Lines, Watched, listening
from hypothesis import given
from hypothesis import strategies as st

from acc.controller.watching import watching
from acc.errors import CompressionError, ConflictError, StoreError
from acc.journal.names import ThreadKey
from acc.logs import cause, code, log_event
from acc.state.proposal import Proposal, read
from acc.state.reading import Reading
from acc.state.reasons import Reason

MARK = "qzxvkw"
"""What no code, id or ref contains: where it turns up, somebody's words do."""

RULE = "Never restart nginx."


def scripted(*answers: Any) -> Any:
    """A compressor whose answers are given; an exception is raised."""
    left = list(answers)

    def compress(reading: Reading) -> Proposal:
        answer = left.pop(0) if left else {}
        if isinstance(answer, BaseException):
            raise answer
        return read(answer, reading.policy.schema)

    return compress


class TestNoContentAboveDebug:
    @given(text=st.text(max_size=60), is_provisional=st.booleans())
    def test_neither_lines_nor_spans_hold_what_anybody_says(
        self, text: str, is_provisional: bool
    ) -> None:
        said = f"{MARK}. Never {MARK} {text}"
        lies = {
            "rules": [{"quote": said, "ref": "u1"}, {"quote": MARK, "ref": MARK, "id": MARK}],
            "later": [{"id": MARK, "quote": MARK, "ref": MARK}],
            "done": [{"id": MARK, "ref": MARK}],
            "facts": [{"text": said, "refs": [MARK]}, {"nothing": said}],
            "drop": ["c1", MARK],
            MARK: [said],
        }
        failing = CompressionError(said, where=said, outcome=said)
        raising = RuntimeError(said)
        raising.__cause__ = OSError(28, said)
        fallback = scripted(lies, lies, raising) if is_provisional else None
        exported = Exported()
        with listening() as lines:
            watched = Watched(
                exported.telemetry(), fallback=fallback, max_tokens=90,
                compressor=scripted(lies, failing, raising, lies, {"facts": [said] * 30}),
            )  # fmt: skip
            for _ in range(6):
                watched.say(said * 30, thread=ThreadKey("t", user=MARK), tools=(said,))
        assert lines.records
        assert MARK not in lines.told().lower()
        spans = [(s.name, s.attributes, s.events, s.status.description) for s in exported.spans]
        assert MARK not in str(spans).lower()
        for name in ("acc.refusals", "acc.compression.failures", "acc.compression.tokens"):
            assert MARK not in str(exported.points(name)).lower()

    def test_a_line_cannot_forge_another(self, lines: Lines) -> None:
        Watched().say("Hello.", thread="t\n2026 CRITICAL acc: forged\x1b[2J")
        assert lines.records
        assert not re.search("[\n\x1b]", "".join(r.getMessage() for r in lines.records))


class TestAStep:
    def test_is_one_line_with_its_facts(self, lines: Lines) -> None:
        step = Watched().say(RULE)
        (fields,) = lines.of("step")
        assert (fields["thread"], fields["turn"], fields["branch"]) == ("t", 1, "main")
        assert fields["key"] == ThreadKey("t").digest(b"")
        assert fields["state.hash"] == step.state.hash
        assert fields["outcome"] == "compressed"
        assert (fields["candidates"], fields["admitted"]) == (2, 1)
        assert [part.partition(":")[0] for part in fields["ms"]] == [
            "recall", "qualify", "store", "commit", "persist",
        ]  # fmt: skip
        (record,) = lines.records
        assert record.levelno == logging.INFO
        assert f"state.tokens={fields['state.tokens']}" in record.getMessage()

    def test_every_note_of_a_commit_is_counted_with_its_reason(self, lines: Lines) -> None:
        answer = {
            "rules": [
                {"quote": RULE, "ref": "u1"},
                {"quote": "Delete everything.", "ref": "t1"},
                {"quote": "Nobody said this.", "ref": "u1"},
            ],
            "nonsense": [1],
            "facts": [{"text": f"event {n}: {'long ' * 40}", "refs": ["u1"]} for n in range(9)],
            "later": [{"id": "c99", "quote": RULE, "ref": "u1"}],
        }
        watched = Watched(compressor=scripted(answer), max_tokens=200)
        step = watched.say(RULE, tools=("Delete everything.",))
        (fields,) = lines.of("step")
        counted = dict(each.split(":") for each in fields["reasons"])
        assert counted == {
            k: str(n) for k, n in Counter(n.reason.value for n in step.notes).items()
        }
        assert counted.keys() >= {"untrusted", "not_found", "unknown_id", "malformed"}
        assert int(counted["evicted"]) == fields["evicted"] > 3

    def test_words_that_nobody_has_read_are_told_loudly(self, lines: Lines) -> None:
        answer = {"rules": [{"quote": "Nobody said this.", "ref": "u1"}]}
        watched = Watched(compressor=scripted(*[answer] * 9))
        steps = [watched.say("Hello."), *(watched.say("And?") for _ in range(4))]
        given_up = [n for s in steps for n in s.notes if n.reason is Reason.GIVEN_UP]
        told = lines.of("unread")
        assert sum(f["count"] for f in told) == len(given_up) > 0
        loud = [r.levelno for r in lines.records if r.levelno > logging.INFO]
        assert loud == [logging.WARNING] * len(told)

    def test_a_failed_compressor_is_told_with_what_waits(self, lines: Lines) -> None:
        codes = ["timeout", "key_refused"]
        failing = scripted(*[CompressionError("no", outcome=code) for code in codes])
        watched = Watched(compressor=failing, fallback=scripted())
        watched.say("Hello. " * 2_000)
        watched.say("And now?")
        told = lines.of("compression_failed")
        assert [(f["outcome"], f["provisional"]) for f in told] == [
            ("timeout", False), ("key_refused", True),
        ]  # fmt: skip
        assert told[0]["unread"] == 1
        loud = [r.levelno for r in lines.records if r.levelno > logging.INFO]
        assert loud == [logging.WARNING, logging.ERROR]

    def test_an_overflow_names_the_messages(self, lines: Lines) -> None:
        many = [
            f"Never restart service-{n} before noon, please, whatever it says." for n in range(20)
        ]
        answer = {"rules": [{"quote": each, "ref": f"u{n + 1}"} for n, each in enumerate(many)]}
        step = Watched(compressor=scripted(answer), max_tokens=200).say(*many)
        (fields,) = lines.of("overflow")
        assert tuple(fields["refs"]) == step.no_room
        assert len(step.no_room) > 3

    @pytest.mark.parametrize(
        ("error", "event"),
        [
            (ConflictError(MARK), "conflict"),
            (KeyboardInterrupt(MARK), "cancelled"),
            (asyncio.CancelledError(MARK), "cancelled"),
            (StoreError(MARK), "failed"),
        ],
    )
    def test_a_step_that_raises_is_told_without_words(
        self, lines: Lines, error: BaseException, event: str
    ) -> None:
        error.__cause__ = OSError(28, MARK)
        watched = Watched()
        with pytest.raises(type(error)), watching(None, ThreadKey("t"), watched.policy):
            raise error
        (fields,) = lines.of(event)
        assert fields["cause"] == f"{type(error).__name__}<OSError:ENOSPC"
        assert fields["thread"] == "t"
        assert MARK not in lines.told()

    def test_lines_of_parallel_steps_name_their_own_thread(self, lines: Lines) -> None:
        async def run() -> None:
            def one(name: str) -> Any:
                failing = scripted(CompressionError("no", outcome="timeout"))
                return Watched(compressor=failing).asay("Hello.", thread=name)

            await asyncio.gather(*(one(f"t{n}") for n in range(8)))

        asyncio.run(run())
        told = sorted(f["thread"] for f in lines.of("compression_failed"))
        assert told == [f"t{n}" for n in range(8)]


class TestObserversThatFail:
    def test_no_step_fails_and_the_log_tells_it_once_a_step(self, lines: Lines) -> None:
        class Broken:
            def __getattr__(self, name: str) -> Any:
                raise RuntimeError(MARK)

        class Backend:
            def begins(self, *_: Any) -> Any:
                return Broken()

        watched = Watched(Backend())
        watched.say(RULE)
        assert watched.say("Why?").state.turn == 2
        assert len(lines.of("telemetry_failed")) == 2
        assert len(lines.of("step")) == 2, "the others are told all the same"
        assert MARK not in lines.told()

    def test_one_that_fails_is_told_of_the_end(self) -> None:
        told: list[str] = []

        class Observer:
            def __getattr__(self, name: str) -> Any:
                told.append(name)
                if name == "stage_begins":
                    raise RuntimeError(MARK)
                return lambda *_: None

        class Backend:
            def begins(self, *_: Any) -> Any:
                return Observer()

        Watched(Backend()).say(RULE)
        assert told == ["stage_begins", "ends"]

    def test_one_that_does_not_begin_is_not_asked_again_in_that_step(self, lines: Lines) -> None:
        class Backend:
            def begins(self, *_: Any) -> Any:
                raise RuntimeError(MARK)

        assert Watched(Backend()).say(RULE).state.turn == 1
        assert lines.of("telemetry_failed")[0]["observer"] == "Backend"


class TestTheForm:
    def test_the_fields_follow_the_sentence_and_are_data_too(self, lines: Lines) -> None:
        log_event(
            logging.getLogger("acc.here"), logging.INFO, "thing", "something happened",
            count=0, empty="", none=None, ids=("a1", "b 2"), text="two words",
        )  # fmt: skip
        (record,) = lines.records
        assert record.getMessage() == (
            "something happened: event=thing count=0 ids=a1,'b 2' text='two words'"
        )
        assert record.acc == {  # type: ignore[attr-defined]
            "event": "thing", "count": 0, "ids": ["a1", "b 2"], "text": "two words",
        }  # fmt: skip
        assert record.funcName.startswith("test_")

    def test_a_cause_is_types_and_numbers(self) -> None:
        inner = OSError(13, MARK)
        outer = StoreError(MARK)
        outer.__cause__ = inner
        inner.__cause__ = outer
        assert cause(outer) == "StoreError<PermissionError:EACCES"

    @pytest.mark.parametrize("text", ["", "two words", "x" * 60, "Ünicode", None, 7, "9lives"])
    def test_what_has_not_the_form_of_a_code_is_other(self, text: Any) -> None:
        assert code(text) == "other"

    def test_no_logger_of_the_library_has_a_handler(self) -> None:
        code = (
            "import logging, acc.controller.controller, acc.telemetry\n"
            "names = [n for n in logging.root.manager.loggerDict if n.startswith('acc')]\n"
            "print(len(names), [n for n in names if logging.getLogger(n).handlers])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        count, _, with_handlers = done.stdout.partition(" ")
        assert int(count) > 5
        assert with_handlers.strip() == "[]"


def test_a_step_that_raises_leaves_no_thread_behind() -> None:
    from acc.logs import CONVERSATION

    watched, before = Watched(), CONVERSATION.get()
    with suppress(RuntimeError), watching(None, ThreadKey("t"), watched.policy):
        raise RuntimeError
    assert CONVERSATION.get() is before
