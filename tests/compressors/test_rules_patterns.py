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

from acc.commit import commit
from acc.compressors import rules
from acc.compressors.rules import RuleCompressor
from acc.compressors.rules.sentences import LONGEST

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
    ),
)


def patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Every compiled pattern of the package, by module and name."""
    for found in pkgutil.iter_modules(rules.__path__):
        module = importlib.import_module(f"{rules.__name__}.{found.name}")
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                yield f"{found.name}.{name}", value


@pytest.mark.parametrize("unit", UNITS)
def test_no_pattern_is_slow_on_a_sentence_of_repeats(unit: str) -> None:
    said = unit * (LONGEST // len(unit))
    for name, pattern in patterns():
        for text in (said, f"{said}!", f"No {said}", f"Next {said}\x00"):
            start = time.process_time()
            pattern.search(text)
            # Linear searches take microseconds, a catastrophic one minutes.
            assert time.process_time() - start < 0.05, name


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
def test_a_turn_takes_no_longer_with_more_output_than_the_output_is_longer() -> None:
    """Some milliseconds with 20 KB: ``benchmarks/keyless/turn_time.py`` says how many."""
    with_much, with_half = (statistics.median(_seconds(size)) for size in (80_000, 40_000))
    assert with_much < 3 * with_half


def _seconds(size: int) -> list[float]:
    """What each of sixty turns takes whose tool prints ``size`` characters."""
    compress, state, seconds = RuleCompressor(), State.empty(), []
    for number in range(60):
        said, reply = TALK[number % len(TALK)]
        output = LINE.replace("771", str(number)) * (size // len(LINE))
        # Other words in every run: what was read once is known.
        said = f"{said} That is for house {size + number}."
        at = turn(said, reply, output, number=state.turn + 1)
        start = time.process_time()
        proposal = compress(at, state, ())
        seconds.append(time.process_time() - start)
        state = commit(state, proposal, at).state
    return seconds
