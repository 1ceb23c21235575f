"""What the keyless compressor tells of an ingested document: the sentences that answer."""

from __future__ import annotations

import pytest
from speaking import proposed, turn

from acc.keyless.earlier import LONGEST_PASSAGE, passage_about
from acc.text.wording import stems
from acc.turn.observations import Channel, Evidence

ANSWER = "Vendor Harrow Ltd: payments above 5,000 EUR go to cost centre CC-4711."
FILLER = "Requests are filed in the portal, where their status can be followed by everybody."
TABLE = "| Vendor | Limit | Cost centre |\n|---|---|---|\n" + "\n".join(
    f"| {name} Ltd | {number},000 EUR | K-90{number} |"
    for number, name in enumerate(("Brook", "Harrow", "Dunn", "Frost"), 1)
)


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        (f"# Payment policy\n\n{ANSWER}\n", "What is the payment policy for Harrow?",
         f"Payment policy {ANSWER}"),
        (f"{FILLER} {FILLER} {ANSWER} {FILLER}", "Which cost centre for Harrow payments?", ANSWER),
        (TABLE, "Which cost centre does Harrow use?",
         "| Vendor | Limit | Cost centre | [...] | Harrow Ltd | 2,000 EUR | K-902 |"),
        ("Cost centre:\nHarrow Ltd has K-902.", "Which cost centre has Harrow?",
         "Cost centre: Harrow Ltd has K-902."),
        ("Which cost centre for Harrow?", "Which cost centre for Harrow?", ""),
        (FILLER, "Which cost centre for Harrow?", ""),
        ("", "Which cost centre?", ""),
    ],
)  # fmt: skip
def test_the_sentences_that_bear_on_the_question(text: str, question: str, told: str) -> None:
    assert passage_about(text, stems(question)) == told


def test_it_stays_within_its_length() -> None:
    text = " ".join(f"harrow{n} costs {'much ' * n}and centre{n} more." for n in range(90))
    asked = stems(" ".join(f"harrow{n} centre{n}" for n in range(90)))
    assert 0 < len(passage_about(text, asked)) <= LONGEST_PASSAGE
    assert passage_about("x" * 5_000, asked) == ""


def part(ref: str, text: str, **fields: object) -> Evidence:
    return Evidence(channel=Channel.DOCUMENT, text=text, ref=ref, name="policy.md", **fields)


ASKED = "Which cost centre do payments to Harrow Ltd above 5,000 EUR go to?"


def test_a_document_that_was_taken_in_speaks_and_one_in_the_talk_does_not() -> None:
    spoken = proposed("episodic_trace", turn(ASKED, number=9), evidence=[part("doc.8f.2", ANSWER)])
    line = spoken[-1]
    assert (line.fields["text"], line.cites) == (f"earlier (doc.8f.2): {ANSWER}", ("doc.8f.2",))
    pasted = proposed("episodic_trace", turn(ASKED, number=9), evidence=[part("d3", ANSWER)])
    assert len(pasted) == 1


def test_questions_asked_before_take_no_place_of_what_answers() -> None:
    evidence = [
        Evidence(channel=Channel.USER, text=f"{ASKED[:-1]}, and why {n}?", ref=f"u{n}", turn=n)
        for n in (3, 5, 7)
    ]
    at = turn(ASKED, number=9)
    told = proposed("episodic_trace", at, evidence=[*evidence, part("doc.8f.2", ANSWER)])
    assert [line.cites for line in told[1:]] == [("doc.8f.2",)]
    cited = proposed("retrieved_artifacts", at, evidence=[*evidence, part("doc.8f.2", ANSWER)])
    assert [(i.fields["label"], i.cites) for i in cited] == [("policy.md", ("doc.8f.2",))]


def test_what_the_user_said_and_what_a_document_says_stand_side_by_side() -> None:
    said = [
        Evidence(channel=Channel.USER, text=f"Harrow Ltd has cost centre {n}.", ref=f"u{n}", turn=n)
        for n in (3, 5)
    ]
    at = turn(ASKED, number=9)
    told = proposed("episodic_trace", at, evidence=[part("doc.8f.2", ANSWER), *said])
    assert [line.cites for line in told[1:]] == [("u5",), ("doc.8f.2",)]
    opened = proposed("retrieved_artifacts", at, evidence=[part("doc.8f.2", ANSWER), *said])
    assert [item.cites for item in opened] == [("doc.8f.2",)]  # the line about u5 says its ref
