"""`acc.turn.excerpt`: what is cut is cut at lines and words, marked, bounded, and never silently."""

from __future__ import annotations

import re
import time
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import agent, call, document, operator, tool, user

from acc.text.wording import stems
from acc.turn.excerpt import GAP, LONGEST_LINE, MOST_SOUGHT, SCANNED, cut_turn, excerpt
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

NOTHING: frozenset[str] = frozenset()


def rows(count: int, **special: str) -> str:
    """Numbered lines; ``at_7="..."`` is put in place of line 7."""
    lines = [f"row-{n} nothing of note in it" for n in range(count)]
    for place, text in special.items():
        lines[int(place.removeprefix("at_"))] = text
    return "\n".join(lines)


def whole_tokens(text: str, cut: str) -> bool:
    """Whether every token of ``cut`` is one of ``text``, or marked as a part of one."""
    return {token for token in cut.split() if GAP not in token} <= set(text.split())


line = st.text(st.sampled_from("ab1-. é🧬"), max_size=30)
texts = st.lists(line, max_size=40).map("\n".join)


class TestExcerpt:
    def test_a_text_that_fits_is_left_alone(self) -> None:
        for text in ("", "x", "  odd \r\n spacing\t", "x" * 100):
            assert excerpt(text, NOTHING, 100) == text

    def test_what_bears_on_the_question_is_kept_in_order(self) -> None:
        text = rows(500, at_300="the hotel is the Bairro", at_90="Lisbon hotel prices")
        cut = excerpt(text, stems("Which hotel in Lisbon?"), 400)
        assert cut.index("Lisbon hotel prices") < cut.index("the hotel is the Bairro")

    def test_first_and_last_line_are_kept_and_gaps_marked(self) -> None:
        text = rows(500, at_300="the hotel is the Bairro")
        lines = excerpt(text, stems("hotel"), 200).splitlines()
        assert lines[0] == "row-0 nothing of note in it"
        assert lines[-1] == "row-499 nothing of note in it"
        assert GAP in lines

    def test_the_best_line_is_kept_before_the_first_and_the_last(self) -> None:
        """A head of hundreds of characters must not take the room of what answers."""
        filler = "Requests are filed in the portal and wait there. "
        answer = "The hotel in Lisbon is the Bairro."
        for text in (f"{filler * 7}\n{answer}\n{filler * 7}", filler * 12 + answer + filler * 12):
            assert answer in excerpt(text, stems("Which hotel in Lisbon?"), 600)

    def test_a_long_line_is_cut_between_its_sentences(self) -> None:
        text = " ".join(f"Room {n} of the hotel in Lisbon is let to guest {n}." for n in range(60))
        cut = excerpt(text, stems("room 37, guest 37"), 600)
        assert "Room 37 of the hotel in Lisbon is let to guest 37." in cut

    HEAD = "VENDOR            NO       GBP          FLAG"

    def table(self, count: int, **special: str) -> str:
        """A mail with a table in it, of which ``at_7`` replaces row 7."""
        body = [f"Supplier {n}        1{n:04}    -1{n},000.00   -" for n in range(count)]
        for place, text in special.items():
            body[int(place.removeprefix("at_"))] = text
        before = [f"Dear all, paragraph {n} of the vendor mail." for n in range(20)]
        return "\n".join([*before, self.HEAD, "-" * 40, *body, "Regards", "Moira"])

    def test_a_row_of_a_table_brings_the_tables_head(self) -> None:
        row = "Lytham Freight    103398   -39,011.75   FX"
        text = self.table(40, at_30=row)
        lines = excerpt(text, stems("What is open at Lytham Freight?"), 300).splitlines()
        assert lines.index(self.HEAD) < lines.index(row)
        assert lines[0] == "Dear all, paragraph 0 of the vendor mail."

    def test_the_head_is_that_of_the_rows_own_table(self) -> None:
        other = "DOC          DATE        USER\n1900044391   2025-09-18  TNORRIS\n\n"
        row = "Lytham Freight    103398   -39,011.75   FX"
        text = f"{other}Next:\n{self.table(40, at_30=row)}"
        assert self.HEAD in excerpt(text, stems("Lytham Freight"), 200)
        assert "DATE" in excerpt(text, stems("who is TNORRIS"), 200)

    def test_a_row_stays_where_its_head_does_not_fit(self) -> None:
        row = "Lytham Freight    103398   -39,011.75   FX"
        text = self.table(40, at_30=row)
        assert excerpt(text, stems("Lytham Freight"), len(row) + 20) == f"{GAP}\n{row}\n{GAP}"

    def test_neighbours_are_kept_without_a_gap(self) -> None:
        text = rows(100, at_50="hotel one", at_51="hotel two")
        assert "hotel one\nhotel two" in excerpt(text, stems("hotel"), 150)

    def test_every_place_where_something_is_missing_is_marked(self) -> None:
        """Between two lines that are not neighbours in the text stands a gap."""
        text = rows(300, at_100="hotel one", at_200="hotel two")
        place = {each: n for n, each in enumerate(text.splitlines())}
        lines = excerpt(text, stems("hotel"), 300).splitlines()
        for before, after in pairwise(lines):
            if GAP not in (before, after):
                assert place[after] == place[before] + 1

    def test_of_a_very_long_text_the_missing_middle_is_marked(self) -> None:
        text = "\n".join(f"row-{n:07} nothing of note in it" for n in range(20_000))
        assert len(text) > 2 * SCANNED
        place = {each: n for n, each in enumerate(text.splitlines())}
        cut_at = SCANNED // 2 // (len(text.splitlines()[0]) + 1)
        middle = range(cut_at - 40, cut_at + 40)
        about = frozenset().union(*(stems(f"row-{n:07}") for n in (*middle,)))
        lines = excerpt(text, about, 50_000).splitlines()
        for before, after in pairwise(lines):
            if GAP not in (before, after):
                assert before in place, before
                assert after in place, after
                assert place[after] == place[before] + 1

    @pytest.mark.parametrize("size", [5, 10, 30])
    def test_no_token_is_cut_where_a_very_long_text_is_split(self, size: int) -> None:
        token = "INC-" + "4" * size
        text = "\n".join([token] * (3 * SCANNED // (len(token) + 1)))
        assert whole_tokens(text, excerpt(text, stems(token), 4_000 * size))
        text = " ".join([token] * (3 * SCANNED // (len(token) + 1)))
        assert whole_tokens(text, excerpt(text, stems(token), 4_000))

    @given(
        st.lists(st.integers(1, 60), min_size=20, max_size=120), st.integers(LONGEST_LINE + 20, 900)
    )
    def test_no_token_of_a_long_line_is_cut(self, sizes: list[int], limit: int) -> None:
        text = " ".join("x" * size + str(n) for n, size in enumerate(sizes))
        assert whole_tokens(text, excerpt(text, NOTHING, limit))

    def test_a_token_longer_than_a_line_is_marked_or_left_out(self) -> None:
        """Half of an identifier, an address or a key says something that was never said."""
        for text in ("k" * 5_000, "key: " + "k" * 5_000, rows(9, at_0="k" * 5_000)):
            assert whole_tokens(text, excerpt(text, NOTHING, 1_000))

    @given(texts, st.sets(st.sampled_from(["a", "b", "ab", "1"])), st.integers(0, 120))
    @example("x" * 50 + "\na\n" + "y" * 50, {"a"}, 10)
    def test_the_limit_holds(self, text: str, about: set[str], limit: int) -> None:
        assert len(excerpt(text, frozenset(about), limit)) <= limit

    @given(texts, st.integers(0, 200))
    @example("1.\n" * 9 + " b-.-1", 30)
    def test_it_makes_nothing_up_and_is_deterministic(self, text: str, limit: int) -> None:
        cut = excerpt(text, NOTHING, limit)
        assert cut == excerpt(text, NOTHING, limit)
        if cut != text:
            assert set(cut.splitlines()) - {GAP} <= {line.strip() for line in text.splitlines()}

    def test_of_what_is_about_thousands_of_things_the_lines_that_bear_stay(self) -> None:
        about = stems(" ".join(f"item{n}" for n in range(MOST_SOUGHT + 500)))
        text = rows(900, at_500="both item7 and item1400 wait")
        assert "both item7 and item1400 wait" in excerpt(text, about, 400)

    def test_a_text_about_thousands_of_things_takes_no_time(self) -> None:
        text = "\n".join(f"key{n}: value{n}" for n in range(10_000))
        begin = time.perf_counter()
        excerpt(text, stems(text), 4_000)
        assert time.perf_counter() - begin < 3

    @pytest.mark.parametrize(
        "unit", ["x", "x ", "\n", "word \n", "ab-", "é", "1.2.", "[...]\n", "\t", '"a", ']
    )
    def test_ten_megabytes_take_no_time(self, unit: str) -> None:
        text = unit * (10_000_000 // len(unit))
        begin = time.perf_counter()
        cut = excerpt(text, stems("word ab"), 4_000)
        assert time.perf_counter() - begin < 3
        assert len(cut) <= 4_000


class TestCutTurn:
    def test_a_turn_that_fits_is_left_alone(self) -> None:
        turn = Turn(observations=(tool("port 443"), agent("It is 443."), user("Thanks.")))
        assert cut_turn(turn, ["port"], 1_000) == turn

    def test_what_is_left_out_is_counted(self) -> None:
        turn = Turn(observations=(tool(rows(1_000)), user("Which row?")))
        cut = cut_turn(turn, ["row"], 2_000)
        long, said = cut.observations
        assert said == turn.observations[1]
        assert long.left_out == len(turn.observations[0].text) - len(long.text) > 0

    def test_cutting_again_goes_on_counting(self) -> None:
        turn = Turn(observations=(tool(rows(1_000)), user("Which row?")))
        twice = cut_turn(cut_turn(turn, [], 4_000), [], 1_000)
        assert twice.observations[0].left_out == len(turn.observations[0].text) - len(
            twice.observations[0].text
        )

    def test_speech_is_cut_last(self) -> None:
        said = rows(100)
        turn = Turn(observations=(tool(rows(1_000)), document(rows(1_000)), user(said)))
        cut = cut_turn(turn, [], 6_000)
        assert cut.observations[2].text == said
        assert all(len(o.text) < 3_000 for o in cut.observations[:2])

    def test_channels_refs_and_order_stay(self) -> None:
        turn = Turn(
            observations=(operator(rows(99)), call("f()"), tool(rows(99)), user(rows(99)))
        ).numbered(4)
        cut = cut_turn(turn, [], 500)
        assert [(o.channel, o.ref, o.call_id) for o in cut.observations] == [
            (o.channel, o.ref, o.call_id) for o in turn.observations
        ]
        assert cut.number == 4

    @given(
        st.lists(
            st.builds(
                lambda channel, size: Observation(channel=channel, text=rows(size)),
                st.sampled_from(list(Channel)),
                st.integers(0, 60),
            ),
            max_size=6,
        ),
        st.integers(0, 8),
        st.sampled_from([500, 2_000, 16_000]),
    )
    def test_what_a_compressor_reads_of_any_turn_is_bounded(
        self, said: list[Observation], heard: int, limit: int
    ) -> None:
        """Speech and the rest share it; the reply and what it rested on have a quarter each."""
        turn = Turn(
            observations=tuple(said),
            reply=agent(rows(60)),
            heard=tuple(tool(rows(50)) for _ in range(heard)),
        )
        cut = cut_turn(turn, ["row"], limit)
        assert sum(len(o.text) for o in cut.observations) <= limit + limit // 4
        assert cut.reply is not None
        assert len(cut.reply.text) <= limit // 4
        assert sum(len(o.text) for o in cut.heard) <= limit // 4

    def test_a_long_tool_loop_is_bounded(self) -> None:
        """Calls are the agent's, and there may be very many of them."""
        calls = [call(f"write_file({rows(400)})", f"c{n}") for n in range(60)]
        turn = Turn(observations=(*calls, user("Go on.")))
        assert sum(len(o.text) for o in cut_turn(turn, [], 16_000).observations) <= 20_000

    def test_the_users_message_is_never_dropped(self) -> None:
        calls = [call(f"write_file({rows(400)})", f"c{n}") for n in range(60)]
        turn = Turn(observations=(*calls, tool(rows(5_000)), user("Go on, but slowly.")))
        assert cut_turn(turn, [], 2_000).observations[-1].text == "Go on, but slowly."

    def test_a_gap_is_no_word_of_anybodys(self) -> None:
        assert not stems(GAP)
        assert re.fullmatch(r"\[\W+\]", GAP)
