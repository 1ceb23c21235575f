"""Messages that the keyless compressor cannot read: it says so, in the notes and in the log."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from pydantic import ValidationError
from speaking import compress, turn

from acc import Turn, update_state
from acc.commit.commit import commit
from acc.keyless.words import is_foreign
from acc.state.model import CompressedCognitiveState
from acc.state.proposal import Proposal, Remark
from acc.state.reasons import Reason

EXAMPLES = Path(__file__).parents[2] / "examples"
FOREIGN = [
    "Starte db-7 niemals ohne meine Freigabe neu.",
    "Bitte nie am Freitag deployen.",
    "Zahlungen über 10.000 EUR brauchen die Freigabe von Jorge.",
    "Ne déployez jamais le vendredi.",
    "Ne redémarre pas db-7 sans mon accord.",
    "Nunca despliegues los viernes.",
    "No reinicies db-7 sin mi aprobación.",
    "金曜日には絶対にデプロイしないでください。",
    "不要重启 db-7。",
    "Никогда не деплой по пятницам.",
]
ENGLISH = [
    "Never deploy on Fridays.",
    "Ask José García and Zoë Müller of La Poste about Les Halles.",
    "nginx -t && systemctl restart nginx",
    "SELECT * FROM de.kunden",
    "el-7, la-2, de-1, un-4",
    "Café Müller: no reservations after 8 pm",
    "2026-03-14T22:41:07.091Z checkout-gw WARN req=0243ccdc",
    "",
]


@pytest.mark.parametrize("said", FOREIGN)
def test_a_message_that_is_not_read_is_noted_once(
    said: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="acc"):
        done = update_state(None, Turn.said(said))
    assert [n.reason for n in done.notes].count(Reason.LANGUAGE_NOT_READ) == 1
    assert "language_not_read" in done.explain()
    assert "ref=u1" in caplog.text


@pytest.mark.parametrize("said", ENGLISH)
def test_english_names_code_and_logs_are_no_other_language(said: str) -> None:
    assert not is_foreign(said)


def test_no_message_of_the_example_is_taken_for_another_language() -> None:
    lines = map(json.loads, (EXAMPLES / "incident.jsonl").read_text().splitlines())
    said = [line["content"] for line in lines if line["role"] == "user"]
    assert len(said) == 50
    assert not [text for text in said if is_foreign(text)]


def test_a_compressor_can_remark_nothing_else_and_on_nothing_else() -> None:
    with pytest.raises(ValidationError):
        Remark.model_validate({"code": "retired", "ref": "u1"})
    at = turn("Never deploy on Fridays.")
    proposal = Proposal(remarks=(Remark(code="language_not_read", ref="u7"),) * 3)
    done = commit(CompressedCognitiveState.empty(), proposal, at)
    assert done.notes == ()


def test_remarks_are_not_on_the_wire_and_old_proposals_have_none() -> None:
    wire = {"constraints": [], "remarks": [{"code": "language_not_read", "ref": "u1"}]}
    assert Proposal.from_wire(wire, CompressedCognitiveState).remarks == ()
    old = compress(turn("Never deploy."), CompressedCognitiveState.empty(), ()).model_dump()
    del old["remarks"]
    for item in old["items"]:
        del item["amends"]
    assert Proposal.model_validate(old).remarks == ()
