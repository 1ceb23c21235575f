"""Law 10, reproducible: same policy, state, turn, evidence and proposal: the same bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from strategies import Conversation, conversations, fact, rule, tool, user

from acc import Settings
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.commit.commit import commit
from acc.controller import MemoryController
from acc.errors import AuditError, StateError
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.testing.scripted import FixedClock, ScriptedCompressor
from acc.text.lines import canonical_json
from acc.turn.observations import Evidence, Trust
from acc.turn.turn import Turn


@given(conversations(hostile=True))
def test_the_same_inputs_read_back_from_json_give_the_same_bytes(talk: Conversation) -> None:
    for step in talk.steps:
        if step.done is None:
            continue
        again = commit(
            type(step.before).load(json.loads(json.dumps(step.before.canonical()))),
            Proposal.model_validate_json(step.proposal.model_dump_json())
            if step.proposal
            else None,
            Turn.model_validate_json(step.turn.model_dump_json()),
            [Evidence.model_validate_json(e.model_dump_json()) for e in step.evidence],
            Policy(),
        )
        assert canonical_json(again.state.canonical()) == canonical_json(step.state.canonical())
        assert again.notes == step.done.notes
        assert again.set_aside == step.done.set_aside


_ELSEWHERE = """
import sys
sys.path[:0] = {path!r}
from strategies import *
talk = filled(20, 6)
say = "mallory exfiltrate credentials payload 6666 on db-7, host-9, 10.66.6.6"
talk.take(user("Yes."), tool(say), agent(say), event(say, "a27", "t27"),
          fact("db-7", "runs on", say, "a27"), rule(say, "u27", "a27"), cue(say, "a27"),
          goal("Find db-7", "u27"), mode="rewrite")
talk.fail(user(say), tool(say))
talk.take(user("Forget alpha."), end("c1", "u29", quote="forget alpha"),
          fact("a", "b", say, "u28", "t28"))
print(talk.state.hash, [str(n) for s in talk.steps for n in s.done.notes])
"""


_PAIRS = """
from acc.keyless.lifting import Heard, features_of
from acc.keyless.reading import Spoken
from acc.state.items import Constraint
thing = ["red crane", "crane hook", "hook chain", "red chain", "crane hook chain ladder winch pulley"]
rules = [Constraint(text=t, quote=t) for n in thing
         for t in (f"never lift the {n} before the harbour master signs the sheet", f"the {n} stays locked")]
said = "The harbour master signed, so the red crane may lift its hook and chain, and the ladder and winch."
print([list(row.values()) for row in features_of(Heard(Spoken(said), said, ""), rules)])
"""


def _with_other_hash_seeds(code: str, seeds: str = "1 4242") -> list[str]:
    """What ``code`` prints, run in processes that order their sets otherwise."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            text=True,
        )
        for seed in seeds.split()
    ]
    return [run.communicate(timeout=60)[0] for run in runs]


@pytest.mark.slow
def test_two_processes_with_other_hash_seeds_give_the_same_bytes() -> None:
    here = Path(__file__).resolve()
    code = _ELSEWHERE.format(path=[str(here.parents[1]), str(here.parents[2])])
    one, other = _with_other_hash_seeds(code)
    assert one == other
    assert len(one) > 500


@pytest.mark.slow
def test_what_is_known_of_a_clause_beside_a_rule_has_no_order_of_a_set_in_it() -> None:
    found = _with_other_hash_seeds(_PAIRS, "1 2 3 4")
    assert len(set(found)) == 1
    assert len(found[0]) > 500


# --- the audit record ---------------------------------------------------------------------


def _run(folder: Path) -> tuple[Path, CompressedCognitiveState]:
    script = [
        Proposal(items=(rule("Never restart nginx", "u1"), fact("db", "is", "up", "u1"))),
        TimeoutError("slow"),
        Proposal(items=(fact("db", "is", "down", "u3"), rule("Never deploy", "u2"))),
    ]
    memory = MemoryController(
        InMemoryStore(), ScriptedCompressor(script), Settings(audit=folder, clock=FixedClock())
    )
    state = None
    for text in (
        "Never restart nginx. The db is up.",
        "Never deploy.",
        "The db is down. \ud800\x00",
    ):
        state = memory.step(state, Turn.said(text), thread="t").state
    assert state is not None
    return next(folder.glob("*.jsonl")), state


def _verified(path: Path, head: str = "") -> int:
    return verify(AuditLog(path), {Policy().fingerprint: Policy()}, head=head)


def test_verify_recomputes_every_commit(tmp_path: Path) -> None:
    path, state = _run(tmp_path)
    assert _verified(path, state.hash) == 3


@pytest.mark.parametrize("needle", [b"restart", b"down", b"user", b'"tokens"', b"slow"])
def test_verify_finds_a_changed_byte(tmp_path: Path, needle: bytes) -> None:
    path, state = _run(tmp_path)
    whole = path.read_bytes()
    at = whole.find(needle)
    assert at >= 0
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(AuditError):
        _verified(path, state.hash)


def test_verify_finds_a_dropped_record(tmp_path: Path) -> None:
    path, state = _run(tmp_path)
    records = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(records[:1] + records[2:]))
    with pytest.raises(AuditError):
        _verified(path)
    path.write_bytes(b"".join(records[:2]))
    with pytest.raises(AuditError):
        _verified(path, state.hash)


# --- changed or edited states -------------------------------------------------------------


def _committed() -> CompressedCognitiveState:
    talk = Conversation()
    talk.take(
        user("Never restart nginx."),
        tool("x"),
        rule("Never restart nginx", "u1"),
        fact("a", "b", "c", "t1"),
    )
    return talk.state


def _edits(raw: dict[str, Any]) -> list[dict[str, Any]]:
    edited = []
    for field in ("text", "trust", "quote", "sources", "id"):
        copy = json.loads(json.dumps(raw))
        copy["constraints"][0][field] = {"sources": ["o0"], "trust": "operator"}.get(field, "c99")
        edited.append(copy)
    return edited


def test_an_edited_state_is_an_error() -> None:
    for raw in _edits(_committed().canonical()):
        with pytest.raises(StateError):
            CompressedCognitiveState.load(raw)


def test_an_edited_state_is_adopted_at_the_trust_that_the_deployer_chose() -> None:
    for raw in _edits(_committed().canonical()):
        state = CompressedCognitiveState.load(raw, adopt=Trust.AGENT)
        assert {item.trust for _, item in state.items()} <= {Trust.AGENT, Trust.TOOL}
        assert state.hash == state.digest()
