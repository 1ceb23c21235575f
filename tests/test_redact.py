"""Secrets are taken out before anything keeps or shows them; two stay two, and a retry is still a retry."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acc import Channel, InMemoryStore, MemoryController, Observation, Settings, Turn, update_state
from acc.background import BackgroundMemory
from acc.errors import ConfigurationError
from acc.evidence.documents import Documents
from acc.evidence.experience import ExperienceMemory
from acc.state.proposal import Proposal, ProposedItem
from acc.stores.directory import namespace
from acc.stores.protocol import Thread
from acc.testing import ScriptedCompressor
from acc.turn.redact import SecretRedactor

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7v\nq83vEjRWeJCrze8S\n-----END RSA PRIVATE KEY-----"
SECRETS = {
    f"AWS_ACCESS_KEY_ID={'AKIA' + 'IOSFODNN7EXAMPLE'}": "AKIAIOSFODNN7EXAMPLE",
    "OPENAI_API_KEY=sk-proj-abcDEF1234567890abcDEF12": "sk-proj-abcDEF1234567890abcDEF12",
    "use sk-ant-api03-AbCdEfGh1234567890-xyz please": "sk-ant-api03-AbCdEfGh1234567890-xyz",
    "db password: hunter2-Correct-Horse": "hunter2-Correct-Horse",
    "The password is Tr0ub4dor&3, keep it.": "Tr0ub4dor&3",
    '{"password": "s3cr3t!!"}': "s3cr3t!!",
    "PGPASSWORD=swordfish psql": "swordfish",
    "The card number is 4111111111111111.": "4111111111111111",
    "card 4111 1111 1111 1111, 12/29": "4111 1111 1111 1111",
    "amex 3782-822463-10005": "3782-822463-10005",
    "to DE89 3704 0044 0532 0130 00 today": "DE89 3704 0044 0532 0130 00",
    "GB82WEST12345698765432": "GB82WEST12345698765432",
    "postgres://bob:s3cr3t@db.local/x": "s3cr3t",
    "Authorization: Bearer abcdef123456789": "abcdef123456789",
    "Authorization: Basic dXNlcjpwYXNz": "dXNlcjpwYXNz",
    f"token {'ghp_' + 'a1B2' * 9}": "ghp_" + "a1B2" * 9,
    f"slack {'xoxb-' + '123456789012-abcdefABCDEF'}": "xoxb-123456789012-abcdefABCDEF",
    f"maps {'AIza' + 'x' * 35}": "AIza" + "x" * 35,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N": "eyJzdWIiOiIxMjM0In0",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY": "wJalrXUtnFEMI",
    KEY: "q83vEjRWeJCrze8S",
    KEY.partition("-----END")[0]: "q83vEjRWeJCrze8S",
}
PLAIN = [
    "My password is wrong, please reset it.", "password: required", "password = os.environ['DB']",
    "password=None", "password: ${DB_PASSWORD}", "max_tokens: 800", "next token: optional",
    "token = self.peek()", "max_tokens=400_000", "token = parser.next(7)", "postgres://u:{password}@h/x",
    "order 4111111111111112", "at 1732500000000 ms", "call +49 170 1234567", "sk-learn pipelines",
    "Use a bearer token.", "commit 6df6913a28ca0d102d6a0f4e454b61c5e885f0cb", "db-7 is read-only",
    "550e8400-e29b-41d4-a716-446655440000", "The secret is out: nobody tests.", "https://host/a:b@c",
]  # fmt: skip

redact = SecretRedactor(b"k")


def user(text: str) -> Observation:
    return Observation(channel=Channel.USER, text=text)


def tool(text: str) -> Observation:
    return Observation(channel=Channel.TOOL, text=text, name="mail", call_id="c")


@pytest.mark.parametrize("text", SECRETS, ids=lambda t: t[:24])
def test_a_secret_is_replaced_and_what_is_around_it_stays(text: str) -> None:
    made = redact(text)
    assert SECRETS[text] not in made
    assert re.search(r"\[secret:[0-9a-f]{10}\]", made)
    assert redact(made) == made
    if SECRETS[text] != text and "PRIVATE" not in text and "eyJ" not in text:
        assert made.startswith(text.partition(SECRETS[text])[0])


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact(text) == text


@given(st.text(alphabet=st.sampled_from("pasword =:is4111 sk-AB[secret]@/\n.'\"&9"), max_size=80))
def test_redacting_again_changes_nothing(text: str) -> None:
    made = redact(text)
    assert redact(made) == made


def test_one_secret_has_one_placeholder_and_two_have_two() -> None:
    first, again = redact("password: hunter2x"), redact("so the password is hunter2x")
    assert first.rpartition("[")[2] == again.rpartition("[")[2]
    assert redact("password: hunter3x") != first
    assert redact("4111 1111 1111 1111") == redact("4111111111111111")
    assert SecretRedactor(b"other")("password: hunter2x") != first


@pytest.mark.parametrize("text", ["sk-" * 40_000, "password=" * 20_000, "-----BEGIN " * 9_000])
def test_long_texts_take_no_time(text: str) -> None:
    redact(text)


SAID = "\n".join(SECRETS)
CLEAR = [s for s in SECRETS.values() if "\n" not in s]


def on_disk(folder: Path) -> list[str]:
    """Secrets that stand in some file below ``folder``."""
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [secret for secret in CLEAR if secret.encode() in held]


def test_nothing_of_a_memory_holds_them(tmp_path: Path) -> None:
    document = tmp_path / "notes.md"
    document.write_text(SAID, encoding="utf-8")
    with MemoryController.open(tmp_path / "m") as memory:
        first = Turn(observations=(user(f"Read it. Never post it.\n{SAID}"), tool(SAID)))
        done = memory.step(None, first, thread="t")
        memory.record([Observation(channel=Channel.AGENT, text=SAID)], state=done.state, thread="t")
        Documents.of(memory, namespace()).ingest(document)
        done = memory.step(done.state, Turn.said("And?"), thread="t")
        memory.retire([done.state.constraints[0].id], "password: hunter2-Correct-Horse", thread="t")
        shown = str(memory.history("t", tools=True)) + done.state.render() + str(done.model_dump())
    assert [secret for secret in CLEAR if secret in shown] == []
    assert on_disk(tmp_path / "m") == []


def test_a_compressor_is_shown_none_and_brings_none() -> None:
    seen: list[str] = []

    def compressor(turn: Turn, state: Any, evidence: Any) -> Proposal:  # noqa: ARG001
        seen.append(turn.model_dump_json() + str([e.text for e in evidence]))
        item = ProposedItem(
            slot="episodic_trace", fields={"text": f"saw {CLEAR[0]}"}, cites=(turn.observations[0].ref,)
        )  # fmt: skip
        return Proposal(items=(item,))

    memory = MemoryController(InMemoryStore(), compressor)
    done = memory.step(None, Turn(observations=(user("Look."), tool(SAID))), thread="t")
    assert [secret for secret in CLEAR if secret in seen[0]] == []
    assert "saw [secret:" in done.state.render()
    assert (
        "saw [secret:" in update_state(None, Turn.said(SAID), compressor=compressor).state.render()
    )
    assert [secret for secret in CLEAR if secret in seen[-1]] == []


def test_what_a_failing_compressor_says_is_redacted() -> None:
    def compressor(turn: Any, state: Any, evidence: Any) -> Proposal:  # noqa: ARG001
        raise RuntimeError("could not read password: hunter2-Correct-Horse")

    done = MemoryController(InMemoryStore(), compressor).step(None, Turn.said("x"), thread="t")
    assert "hunter2" not in done.failure
    assert "[secret:" in done.failure


def test_a_retry_is_recognised_also_by_another_process(tmp_path: Path) -> None:
    turn = Turn(observations=(user("Keep it."), tool(SAID)))
    states = []
    for _ in range(2):
        with MemoryController.open(tmp_path / "m") as memory:
            states.append(memory.step(None, turn, thread="t").state)
            held = memory._log_of(Thread(thread="t")).branch(states[-1].branch).artifacts
            assert len([a for a in held if a.kind == "observation"]) == 2
    assert states[0] == states[1]
    assert states[0].branch == "main"


def test_two_memories_have_keys_of_their_own(tmp_path: Path) -> None:
    made = []
    for name in "ab":
        with MemoryController.open(tmp_path / name) as memory:
            assert memory._redact is not None
            made.append(memory._redact("password: hunter2x"))
    assert made[0] != made[1]


def test_in_the_background_too() -> None:
    memory = MemoryController(InMemoryStore())
    with BackgroundMemory(memory) as behind:
        entry = behind.begin(None, Turn.said(SAID), thread="t")
        behind.finish(entry, [Observation(channel=Channel.AGENT, text=SAID)])
        behind.drain()
        held = memory._log_of(Thread(thread="t")).branch("main").artifacts
        assert held
        assert [s for s in CLEAR for a in held if s in a.text] == []


def test_experiences_too() -> None:
    memory = ExperienceMemory(InMemoryStore(), namespace(user="ana"), lambda: "2026-01-01")
    memory.seed(f"log in with {CLEAR[0]}", SAID)
    (kept,) = memory.experiences()
    assert [s for s in CLEAR if s in kept.task + kept.execution] == []


def test_off_keeps_texts_and_a_function_of_ones_own_is_asked() -> None:
    def held(redact: Any) -> str:
        memory = MemoryController(InMemoryStore(), ScriptedCompressor({}), Settings(redact=redact))
        done = memory.step(None, Turn.said("My name is Ana, password: hunter2x."), thread="t")
        return done.turn.observations[-1].text

    assert held(None) == "My name is Ana, password: hunter2x."
    assert held(lambda t: t.replace("Ana", "[name]")) == "My name is [name], password: hunter2x."


@pytest.mark.parametrize("bad", [lambda t: 1 / 0 and t, lambda _: None, lambda t: t.encode()])
def test_one_that_fails_keeps_nothing_and_tells_nothing(bad: Any) -> None:
    store = InMemoryStore()
    memory = MemoryController(store, settings=Settings(redact=bad))
    with pytest.raises(ConfigurationError, match="redact failed") as caught:
        memory.step(None, Turn.said("password: hunter2x"), thread="t")
    assert "hunter2x" not in str(caught.value)
    assert store.ids("default") == []
    with pytest.raises(ConfigurationError, match="redact is"):
        MemoryController(store, settings=Settings(redact="all"))
