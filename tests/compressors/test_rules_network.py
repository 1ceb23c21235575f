"""Pieces, the network over them, and how alike two texts are by them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc.keyless.acts import ACTS, mixed
from acc.keyless.convolution import (
    AFTER,
    BEFORE,
    ENDS,
    LONGEST,
    NUMBER,
    OPENS,
    UNKNOWN,
    Convolution,
    Layer,
    Pieces,
    framed,
    pieces_of,
    segments_of,
)
from acc.keyless.lifting import NOTHING, likeness
from acc.keyless.reading import Spoken

KNOWN = [OPENS, ENDS, NUMBER, UNKNOWN, "never", "re", "##start", "##s", "'", "don", "t", ".", "s"]
PLACES = {name: at for at, name in enumerate(KNOWN)}


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Never restarts.", ["never", "re", "##start", "##s", "."]),
        ("don't", ["don", "'", "t"]),
        ("4711 at 06:00", [NUMBER, UNKNOWN, NUMBER]),
        ("zzz", [UNKNOWN]),
        ("", []),
    ],
)
def test_a_word_is_cut_into_the_longest_pieces_first(text: str, cut: list[str]) -> None:
    assert list(pieces_of(text, PLACES)) == cut


def test_a_word_without_end_costs_no_more_than_a_long_one() -> None:
    assert len(list(pieces_of("s" * 100_000, PLACES))) <= 40


def _small(seed: int) -> Convolution:
    rng = np.random.default_rng(seed)

    def layer(inner: int, outer: int) -> Layer:
        weights = rng.normal(size=(inner, outer)).astype(np.float32)
        return Layer(weights, rng.normal(size=outer).astype(np.float32))

    vectors = rng.integers(-127, 127, size=(len(KNOWN), 4)).astype(np.int8)
    return Convolution(
        Pieces(PLACES, vectors, 0.01),
        rng.normal(size=(3, 4)).astype(np.float32),
        (layer(12, 5), layer(15, 5), layer(15, 5)),
        layer(20, 6),
        layer(6, len(ACTS)),
    )


def _one_by_one(network: Convolution, spoken: Spoken) -> list[float]:
    """The formula of the module, place by place."""
    read, clause = framed(network.pieces, spoken)
    segments = segments_of(read, clause, network.pieces)
    x = [
        network.pieces.vectors[piece] * network.pieces.scale + network.segments[segment]
        for piece, segment in zip(read, segments, strict=True)
    ]

    def over(rows: list[np.ndarray], layer: Layer, apart: int) -> list[np.ndarray]:
        none = np.zeros_like(rows[0])
        found = []
        for at in range(len(rows)):
            beside = [at - apart, at, at + apart]
            row = np.concatenate([rows[i] if 0 <= i < len(rows) else none for i in beside])
            found.append(np.maximum(row @ layer.weights + layer.bias, 0))
        return found

    one, two, three = network.convolutions
    a = over(x, one, 1)
    b = [left + right for left, right in zip(a, over(a, two, 1), strict=True)]
    c = np.array([left + right for left, right in zip(b, over(b, three, 2), strict=True)])
    own, around = c[:clause], c[clause:]
    pooled = np.concatenate([own.max(0), own.mean(0), around.max(0), c[0]])
    hidden = np.maximum(pooled @ network.hidden.weights + network.hidden.bias, 0)
    scores = hidden @ network.last.weights + network.last.bias
    raised = np.exp(scores - scores.max())
    return list(raised / raised.sum())


@given(
    st.integers(0, 50),
    st.tuples(*[st.lists(st.sampled_from(KNOWN[4:]), max_size=6).map(" ".join)] * 3),
)
def test_the_network_computes_its_formula(seed: int, texts: tuple[str, str, str]) -> None:
    network, spoken = _small(seed), Spoken(*texts)
    assert network.odds(spoken) == pytest.approx(_one_by_one(network, spoken), abs=1e-4)


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_it_has_odds_for_any_text(words: str, before: str, after: str) -> None:
    odds = Convolution.read().odds(Spoken(words, before, after))
    assert len(odds) == len(ACTS)
    assert math.isclose(sum(odds), 1.0, abs_tol=1e-4)


def test_what_is_read_is_bounded() -> None:
    long = "never restart " * 10_000
    read, clause = framed(Convolution.read().pieces, Spoken(long, long, long))
    assert clause == LONGEST + 2
    assert len(read) == LONGEST + BEFORE + AFTER + 4


def test_two_opinions_are_one() -> None:
    assert mixed([0.5, 0.5], [0.5, 0.5]) == pytest.approx([0.5, 0.5])
    assert mixed([0.9, 0.1], [0.1, 0.9]) == pytest.approx([0.5, 0.5])
    assert mixed([1.0, 0.0], [0.0, 1.0]) == pytest.approx([0.5, 0.5])


def test_words_of_like_meaning_are_alike_and_others_are_not() -> None:
    near = likeness("restart the server", "reboot the host")
    far = likeness("restart the server", "invite the bride's mother")
    assert near.one > far.one
    assert near.best > far.best
    assert likeness("restart the server", "restart the server").one == pytest.approx(1.0, abs=1e-3)
    assert likeness("", "restart") == likeness("restart", "!?") == NOTHING
