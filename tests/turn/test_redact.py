"""Secrets are taken out before anything keeps or shows them; two stay two, and a retry is still a retry."""

from __future__ import annotations

import base64
import logging
import random
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from timing import is_linear, is_quicker

from acc.controller.controller import MemoryController
from acc.errors import CompressionError, ConfigurationError
from acc.evidence.evidence import Evidence
from acc.state.proposal import Proposal, ProposedLater, ProposedPin, ProposedRecord
from acc.state.reading import Reading
from acc.step.update import update_state
from acc.turn.observations import Channel, Observation
from acc.turn.redact import SecretRedactor
from acc.turn.turn import Turn

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
WORD = "hunter2-Correct-Horse"
JWT = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5NXgL0n3I9Pl"
LAID_OUT = [
    (f"password{sign}{WORD}", WORD)
    for sign in (":\n", ": >\n  ", " | ", " \uff1a ", "\u00a0: ", "       = ", " for the db is ", ": $", ": #", ": {")
] + [
    (f"{name}: {WORD}", WORD)
    for name in ("Passwort", "Kennwort", "mot de passe ", "contraseña", "senha", "hasło", "пароль", "パスワード")
] + [
    (f"SMTP_PASS={WORD}", WORD), (f"user: bob, pass: {WORD}", WORD),
    (f"<password>{WORD}</password>", WORD), (f'<add key="Password" value="{WORD}"/>', WORD),
    (f"user,password\nbob,{WORD}", WORD), (f"mysql --password {WORD}", WORD), (f"curl -u bob:{WORD} https://x", WORD),
    (f'{{"password": {{"value": "{WORD}"}}}}', WORD), (f'"tokens": ["{WORD}"]', WORD),
    (f"api_key=&quot;{WORD}&quot;", WORD), (f"machine x login bob password {WORD}", WORD),
    ("AKIAIOSFODNN7\nEXAMPLE", "AKIAIOSFODNN7"), ("AKIA\u200bIOSFODNN7EXAMPLE", "IOSFODNN7EXAMPLE"),
    ("sk-proj-abcDEF1234567890abc\nDEF1234567890abcDEF12", "DEF1234567890abcDEF12"),
    (f"{JWT[:50]}\n{JWT[50:]}", JWT[50:80]),
    ("postgres://bob:S3c@retPw9@db/x", "retPw9"), ("postgres://bob:$S3cretPw@db/x", "S3cretPw"),
    ("de89 3704 0044 0532 0130 00", "0532 0130"), ("DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000", "0532"),
    ("DE89 3704 0044\n0532 0130 00", "0532 0130"), ("4111.1111.1111.1111", "1111.1111"),
    ("Cookie: session=3f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c", "3f9a8b7c6d5e4f3a"),
    ("https://x/c?sv=2020&sig=Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4Zm9v%3D", "Zm9vYmFyYmF6"),
    ("> -----BEGIN RSA PRIVATE KEY-----\n> MIIEowIBAAKCAQEAabc\n> xyzSECRETLINE2\n", "xyzSECRETLINE2"),
    ("https://api.telegram.org/bot123456789:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsawx/", "AAHdqTcvCH1vGW"),
    ("MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.ZnCjm1XVW7vRze4b7Cq4se7kKWs", "ZnCjm1XVW7vRze4b7Cq4se7kKWs"),
    (base64.b64encode(f"password: {WORD}".encode()).decode(), "cGFzc3dvcmQ6IGh1bnRlcj"),
]  # fmt: skip
"""Secrets in other layouts, with characters of theirs that must not stay."""

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


@pytest.mark.parametrize(("text", "secret"), LAID_OUT)
def test_a_secret_is_found_in_whatever_layout(text: str, secret: str) -> None:
    made = redact(text)
    assert secret not in made
    assert redact(made) == made


def test_a_line_behind_a_token_stays() -> None:
    text = "Use sk-proj-abcDEF1234567890abcDEF12\nNever restart nginx."
    assert redact(text).endswith("\nNever restart nginx.")


@pytest.mark.parametrize("field", ["name", "call_id", "message", "at"])
def test_no_field_of_a_message_keeps_a_secret(field: str) -> None:
    seen = Observation(channel=Channel.TOOL, text="done", **{field: f"x {CLEAR[1]}"})
    step = update_state(None, Turn(observations=(seen,), at=f"at {CLEAR[1]}"))
    assert CLEAR[1] not in repr(step.tail)


def test_one_secret_has_one_placeholder_and_two_have_two() -> None:
    first, again = redact("password: hunter2x"), redact("so the password is hunter2x")
    assert first.rpartition("[")[2] == again.rpartition("[")[2]
    assert redact("password: hunter3x") != first
    assert redact("4111 1111 1111 1111") == redact("4111111111111111")
    assert SecretRedactor(b"other")("password: hunter2x") != first


DATA = base64.b64encode(random.Random(7).randbytes(1_500_000)).decode()
LINES = ["\n".join(textwrap.wrap(DATA, 76)), "\\r\\n".join(textwrap.wrap(DATA, 64))]
LONG = [
    "sk-" * 40_000, "password=" * 20_000, "-----BEGIN " * 9_000, "-----BEGIN PRIVATE KEY-----" * 9_000,
    "x" * 8_000 + " " + DATA, *LINES, " ".join(textwrap.wrap(DATA, 8_000)),
]  # fmt: skip


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:12])
def test_a_long_text_takes_time_in_proportion_to_its_length(text: str) -> None:
    assert is_linear(redact, text)


@pytest.mark.parametrize("picture", [DATA, *LINES])
def test_a_picture_is_not_searched_word_for_word(picture: str) -> None:
    assert is_quicker(redact, picture, "Never restart nginx. " * (len(picture) // 100))


@pytest.mark.parametrize("data", [DATA[:90_000], LINES[0][:90_000], LINES[1][:90_000]])
def test_data_stays_and_what_stands_around_it_is_searched(data: str) -> None:
    said = f"password: hunter2x {data} password: hunter3x"
    made = redact(said)
    assert data in made
    assert made.count("[secret:") == 2
    key = f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{data}\n"
    assert re.fullmatch(r"\[secret:\w+\]", redact(key))


def test_the_one_letter_that_grows_in_lower_case_moves_no_secret() -> None:
    assert redact("İİİ password: hunter2x").startswith("İİİ password: [secret:")


SAID = "\n".join(SECRETS)
CLEAR = [s for s in SECRETS.values() if "\n" not in s]
RULE = "Never post it anywhere."


def on_disk(folder: Path) -> list[str]:
    """Secrets that stand in some file below ``folder``."""
    held = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
    return [secret for secret in CLEAR if secret.encode() in held]


def writing(reading: Reading) -> Proposal:
    """A compressor that writes a secret of its own."""
    first = reading.messages[0].ref
    fields = {"text": f"login: {CLEAR[0]}"}
    return Proposal(
        rules=(ProposedPin(quote=RULE, ref=first),),
        records=(ProposedRecord(slot="relational_map", fields=fields, refs=(first,)),),
    )


def test_nothing_of_a_memory_holds_them(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Neither journal nor Chroma, log or export: of a turn, a recorded answer, a document, a fact, a reason."""
    document = tmp_path / "notes.md"
    document.write_text(SAID, encoding="utf-8")
    out = tmp_path / "out"
    out.mkdir()
    caplog.set_level(logging.DEBUG, "acc")
    with MemoryController.open(tmp_path / "m", model=writing) as memory:
        first = Turn(observations=(user(f"{RULE}\n{SAID}"), tool(SAID)))
        done = memory.step(None, first, thread="t")
        agent = Observation(channel=Channel.AGENT, text=SAID)
        memory.record([agent], state=done.state, thread="t")
        Evidence(memory).ingest(document)
        done = memory.step(done.state, Turn(observations=(agent, user("And?"))), thread="t")
        memory.retire([done.state.constraints[0].id], "password: hunter2-Correct-Horse", thread="t")
        shown = "".join(str(each) for each in memory.history("t")) + done.text() + done.explain()
        Evidence(memory).export(out / "all.jsonl")
        memory.journal.backup(out / "copy.sqlite3")
    assert "[secret:" in shown
    assert [secret for secret in CLEAR if secret in shown + caplog.text] == []
    assert on_disk(tmp_path / "m") == []
    assert on_disk(out) == []


def test_a_compressor_is_shown_none_and_brings_none() -> None:
    seen: list[str] = []

    def compressor(reading: Reading) -> Proposal:
        seen.extend(message.text for message in reading.messages)
        return writing(reading)

    said = Turn(observations=(user(RULE), tool(SAID)))
    step = update_state(None, said, model=compressor)
    assert [secret for secret in CLEAR if secret in "\n".join(seen)] == []
    assert "login: [secret:" in step.text()
    assert [secret for secret in CLEAR if secret in step.text()] == []


def test_nothing_that_a_compressor_writes_keeps_a_secret(tmp_path: Path) -> None:
    secret = CLEAR[1]
    pin = ProposedPin(quote=secret, ref=secret, id=secret, about=secret, scope=secret)
    given = Proposal(rules=(pin,), next=(pin,), later=(ProposedLater("c1", secret, secret),))
    with MemoryController.open(tmp_path, model=lambda _: given, store="none") as memory:
        memory.step(None, Turn.said("Go on."), thread="t")
        assert secret not in "".join(str(each) for each in memory.history("t"))
        Evidence(memory).hold("t", reason=f"asked with {secret}")
        assert secret not in str(Evidence(memory).held())


@pytest.mark.parametrize("kind", [RuntimeError, CompressionError])
def test_what_a_failing_compressor_says_is_redacted(kind: Any, tmp_path: Path) -> None:
    def compressor(_: Reading) -> Proposal:
        raise kind("could not read password: hunter2-Correct-Horse")

    with MemoryController.open(tmp_path / "m", model=compressor, store="none") as memory:
        step = memory.step(None, Turn.said("x"), thread="t")
        kept = "".join(str(each) for each in memory.history("t"))
    for told in (step.failure, kept):
        assert "hunter2" not in told
        assert "[secret:" in told
    assert on_disk(tmp_path / "m") == []


def test_a_retry_is_recognised_also_by_another_process(tmp_path: Path) -> None:
    turn = Turn(observations=(user("Keep it."), tool(SAID)))
    states = []
    for _ in range(2):
        with MemoryController.open(tmp_path / "m", store="none") as memory:
            states.append(memory.step(memory.policy.schema.empty(), turn, thread="t").state)
            assert len(list(memory.history("t"))) == 1
    assert states[0] == states[1]
    assert states[0].branch == "main"


def test_two_memories_have_keys_of_their_own(tmp_path: Path) -> None:
    """Without a key, a reader of a placeholder could try guesses against it."""
    made = []
    for name in "ab":
        with MemoryController.open(tmp_path / name, store="none") as memory:
            step = memory.step(None, Turn.said("The password: hunter2x."), thread="t")
            made.append(step.tail[0].text)
            assert redact("password: hunter2x").partition("[")[2] not in step.tail[0].text
    assert made[0] != made[1]


def test_behind_the_agent_too(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "m", model=writing, behind=True, store="none") as memory:
        memory.step(None, Turn(observations=(user(f"{RULE}\n{SAID}"),)), thread="t")
        assert memory.settle(60)
        state = memory.last_state("t")
        assert state is not None
        assert state.relational_map
    assert on_disk(tmp_path / "m") == []


def test_off_keeps_texts_and_a_function_of_ones_own_is_asked() -> None:
    def held(redact: Any) -> str:
        said = Turn.said("My name is Ana, password: hunter2x.")
        return update_state(None, said, redact=redact).tail[0].text

    assert held(None) == "My name is Ana, password: hunter2x."
    assert held(lambda t: t.replace("Ana", "[name]")) == "My name is [name], password: hunter2x."


@pytest.mark.parametrize("bad", [lambda t: 1 / 0 and t, lambda _: None, lambda t: t.encode()])
def test_one_that_fails_keeps_nothing_and_tells_nothing(bad: Any, tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "m", redact=bad, store="none") as memory:
        with pytest.raises(ConfigurationError, match="redact failed") as caught:
            memory.step(None, Turn.said("password: hunter2x"), thread="t")
        assert "hunter2x" not in str(caught.value)
        assert list(memory.history("t")) == []
        assert memory.journal.waiting("t") == ()
