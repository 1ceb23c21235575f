"""No regular expression of the keyless compressor takes long, whatever the text."""

from __future__ import annotations

import importlib
import pkgutil
import re
import statistics
import time
from collections.abc import Iterator

import pytest
from speaking import State, turn

import acc.keyless as rules
from acc.commit.commit import commit
from acc.keyless.compressor import RuleCompressor
from acc.keyless.sentences import LONGEST

UNITS = (
    *("x", " ", "a ", ". ", ", ", "9", "1,", "1.", "A-", "A_1", "€1,", "Ab ", "(", "'", '"a', "\n"),
    *(
        "never ",
        "no longer ",
        "you can ",
        "if the ",
        "from the ",
        "is now ",
        "only after ",
        "by the ",
    ),
    *(
        "the of the ",
        "12 May - ",
        "key: ",
        "until he has ",
        "Ab da ",
        "we need a ",
        "a, and ",
        "n't ",
        ", please",
        " ;)",
    ),
)


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every compiled pattern of the package, by module and name."""
    for found in pkgutil.iter_modules(rules.__path__):
        module = importlib.import_module(f"{rules.__name__}.{found.name}")
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{found.name}.{name}", value


def test_no_pattern_repeats_possessively() -> None:
    """Python before 3.11.5 matches ``(...)++`` and ``(?>...)`` wrongly where a group backtracks."""
    for name, pattern in patterns():
        bare = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "_", pattern.pattern, flags=re.S)
        assert not re.search(r"[+*?}]\+|\(\?>", bare), name


@pytest.mark.parametrize("unit", UNITS)
def test_no_pattern_is_slow_on_a_sentence_of_repeats(unit: str) -> None:
    said = unit * (LONGEST // len(unit))
    for name, pattern in patterns():
        for text in (said, f"{said}!", f"No {said}", f"Next {said}\x00"):
            # Linear searches take microseconds, a catastrophic one minutes, and does so again;
            # the collector of garbage may come between once.
            assert any(_seconds(pattern, text) < 0.05 for _ in range(3)), name


def _seconds(pattern: re.Pattern[str], text: str) -> float:
    start = time.process_time()
    pattern.search(text)
    return time.process_time() - start


LINE = (
    "10:04:13 host-7 service[31]: level=info GET /v1/orders/771 took 41 ms status=200 bytes=1733\n"
)
TALK = (
    ("Morning. Keep the mails to the tenants short, two lines at most.", "Understood, two lines."),
    ("How many boilers are still down in the north block?", "Three: B-4, B-7 and B-9 since 05:40."),
    ("Ines takes over as coordinator from noon.", "Noted, Ines coordinates from noon."),
    (
        "Order the valve for B-7, but nothing above 300 without me.",
        "Ordered, 212.40, ref VX-20981.",
    ),
    ("Thanks. The inspection moved, 14 May.", "I've put 14 May in the calendar."),
    ("You can write to the tenants at length now.", "Good, the longer letter goes out."),
)


@pytest.mark.slow
def test_a_turn_with_twenty_kilobytes_of_output_takes_milliseconds() -> None:
    """Some five times what counting the words of the output takes; twelve is the line.

    ``benchmarks/keyless/turn_time.py`` says how many milliseconds that is.
    """
    compress, state, turns, counts = RuleCompressor(), State.empty(), [], []
    for number in range(60):
        said, reply = TALK[number % len(TALK)]
        output = LINE.replace("771", str(number)) * (20_000 // len(LINE))
        at = turn(f"{said} That is for house {number}.", reply, output, number=state.turn + 1)
        start = time.process_time()
        proposal = compress(at, state, ())
        turns.append(time.process_time() - start)
        start = time.process_time()
        _counted_slowly(output)
        counts.append(time.process_time() - start)
        state = commit(state, proposal, at).state
    assert statistics.median(turns) < 12 * statistics.median(counts)


def _counted_slowly(text: str) -> dict[str, int]:
    """How often each word of a text occurs, by as many steps of the interpreter as it has words."""
    found: dict[str, int] = {}
    for match in re.finditer(r"\w+", text):
        word = match.group().lower()
        found[word] = found.get(word, 0) + 1
    return found
