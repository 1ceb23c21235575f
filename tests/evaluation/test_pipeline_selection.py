"""Algorithm 2 of arXiv 2508.08997, held to the lines of the paper. Lines are numbered as it prints them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.pipeline_study.protocol import Selection

BOA, DEA, MLA, IA, CDA, KIA, ERA, DJE = "BOA", "DEA", "MLA", "IA", "CDA", "KIA", "ERA", "DJE"


class Algorithm2:
    """The paper's listing, copied; its globals are attributes. None is where the listing returns nothing."""

    def __init__(self) -> None:
        self.worker_counter = 0

    def __call__(self, last_speaker: str | None, last_message: str) -> str | None:
        workers = [BOA, DEA, MLA, IA]  # line 1
        if "FINALIZATION" in last_message:  # line 5
            return DJE  # line 7
        if last_speaker is CDA:  # line 8
            w = workers[self.worker_counter % 4]  # line 10
            self.worker_counter += 1  # line 11
            return w  # line 13
        if last_speaker in workers:  # line 14
            if self.worker_counter % 4 == 0:  # line 15
                return KIA  # line 16
            return CDA  # line 18
        if last_speaker is KIA:  # line 19
            return ERA  # line 20
        return None


def test_it_selects_as_the_listing_does_wherever_the_listing_selects() -> None:
    listing, select = Algorithm2(), Selection()
    speakers: list[str] = []
    for turn in range(60):
        message = "FINALIZATION" if turn == 59 else f"message {turn}"
        told = listing(speakers[-1] if speakers else None, message)
        found = select(speakers, message)
        assert found is not None
        assert told in (found, None)
        if told is None:  # the first turn, and after the evaluator
            assert found == CDA
            assert not speakers or speakers[-1] == ERA
        speakers.append(found)
    assert speakers[:11] == [CDA, BOA, CDA, DEA, CDA, MLA, CDA, IA, KIA, ERA, CDA]
    assert speakers[-1] == DJE


@pytest.mark.parametrize("flag", ["FINALIZATION", "FINALIZE"])
def test_lines_5_to_7_the_flag_of_the_code_and_that_of_the_text_end_the_discussion(
    flag: str,
) -> None:
    assert Selection()([CDA, BOA], f"All agree. {flag}.") == DJE
    assert Selection(flags=("FINALIZATION",))([CDA], "FINALIZE") == BOA


def test_nobody_follows_the_documenter() -> None:
    assert Selection()([CDA, DJE], "the FINALIZATION document") is None


def test_the_user_among_the_speakers_changes_no_workers_turn() -> None:
    assert Selection()(["user", CDA, BOA, "user"]) == CDA
    assert Selection()(["user", CDA, BOA, "user", CDA]) == DEA


@given(st.lists(st.sampled_from(["user", BOA, DEA, MLA, IA, CDA, KIA, ERA, DJE, ""])), st.text())
def test_somebody_is_selected_for_any_speakers_and_message(speakers: list[str], said: str) -> None:
    found = Selection()(speakers, said)
    assert found in (BOA, DEA, MLA, IA, CDA, KIA, ERA, DJE) or (
        found is None and speakers[-1] == DJE
    )
