"""`acc.audit.log`: every commit recomputed, every changed byte found, and nothing said too early."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import agent, fact, hostile_texts, rule, tool, user

from acc import Settings
from acc.audit.log import AuditLog
from acc.audit.record import diff, digested
from acc.audit.verify import verify
from acc.commit.commit import LAWS
from acc.controller import MemoryController
from acc.errors import AuditError, CompressionError
from acc.pipeline.turn_pipeline import Step
from acc.pipeline.update import seed
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.stores.in_memory import InMemoryStore
from acc.stores.protocol import Thread
from acc.testing.scripted import FailingCompressor, FixedClock, ScriptedCompressor
from acc.text.lines import canonical_json
from acc.thread.log import ThreadLog
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

State = CompressedCognitiveState
DEFAULT = Policy()
POLICIES = {DEFAULT.fingerprint: DEFAULT}

SAID = (
    Turn(observations=(user("Never restart nginx. The db port is 5432."),)),
    Turn(observations=(tool("port 443"), agent("It is 443."), user("Alice owns checkout."))),
    Turn(observations=(agent("Noted."), user("You may restart nginx again. Größe? 東京 🧬"))),
)


def run(
    folder: Path, turns: Sequence[Turn] = SAID, compressor: Any = None, **settings: Any
) -> tuple[AuditLog, list[Step]]:
    memory = MemoryController(
        InMemoryStore(), compressor, Settings(audit=folder, clock=FixedClock(), **settings)
    )
    steps: list[Step] = []
    for turn in turns:
        steps.append(memory.step(steps[-1].state if steps else None, turn, thread="t"))
    return log_in(folder), steps


def log_in(folder: Path) -> AuditLog:
    (path,) = folder.glob("*.jsonl")
    return AuditLog(path)


def refusal(log: AuditLog, head: str = "") -> str:
    with pytest.raises(AuditError) as caught:
        verify(log, POLICIES, head=head)
    return str(caught.value)


class TestRecords:
    def test_every_commit_recomputes(self, tmp_path: Path) -> None:
        log, steps = run(tmp_path)
        assert verify(log, POLICIES, head=steps[-1].state.hash) == len(SAID)

    def test_a_record_holds_all_that_the_commit_was_made_from(self, tmp_path: Path) -> None:
        log, steps = run(tmp_path)
        for record, done in zip(log.records(), steps, strict=True):
            assert record["policy"]["fingerprint"] == DEFAULT.fingerprint
            assert record["state"] == done.state.canonical()
            assert Turn.model_validate(record["turn"]) == done.turn
            assert [Evidence.model_validate(e) for e in record["evidence"]] == [*done.evidence]
            assert [v["ref"] for v in record["verdicts"]] == [v.ref for v in done.verdicts]
            assert record["tokens"] == done.commit.tokens
            assert set(record["ms"]) >= {"store", "recall", "qualify", "compress", "commit"}
            assert record["prior"] == done.state.parent
            assert "proposal" in record

    def test_the_difference_is_by_field(self) -> None:
        memory = MemoryController(
            InMemoryStore(),
            ScriptedCompressor(
                [
                    Proposal(
                        items=(rule("Never restart nginx", "u1"), fact("db", "port", "1", "u1"))
                    ),
                    Proposal(items=(fact("db", "port", "2", "u2", id="r2"),)),
                ]
            ),
        )
        one = memory.step(None, Turn.said("Never restart nginx. db port 1"), thread="t").state
        two = memory.step(one, Turn.said("db port 2"), thread="t").state
        assert [(c["change"], c["id"]) for c in diff(State.empty(), one)] == [
            ("added", "c1"), ("added", "r2"),
        ]  # fmt: skip
        (changed,) = diff(one, two)
        assert changed["fields"]["object"] == ["1", "2"]
        assert [c["change"] for c in diff(one, State.empty())] == ["removed", "removed"]
        assert diff(two, two) == []

    @pytest.mark.parametrize("compressor", [FailingCompressor(), lambda *_: Proposal()])
    def test_held_and_empty_commits_recompute_too(
        self, tmp_path: Path, compressor: Callable[..., Proposal]
    ) -> None:
        log, steps = run(tmp_path, compressor=compressor)
        assert verify(log, POLICIES, head=steps[-1].state.hash) == len(SAID)

    def test_recalled_evidence_is_in_it(self, tmp_path: Path) -> None:
        turns = [*SAID, Turn.said("What was the db port?")]
        log, steps = run(tmp_path, turns)
        assert steps[-1].evidence
        assert verify(log, POLICIES) == len(turns)

    @given(st.lists(hostile_texts, min_size=1, max_size=4))
    def test_any_words_recompute(self, texts: list[str]) -> None:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            log, steps = run(Path(folder), [Turn(observations=(tool(t), user(t))) for t in texts])
            assert verify(log, POLICIES, head=steps[-1].state.hash) == len(texts)
            assert len(log.path.read_bytes().splitlines()) == len(texts)

    def test_a_log_in_which_a_retry_is_one_more_record_recomputes_and_goes_on(
        self, tmp_path: Path
    ) -> None:
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        first = memory.step(None, SAID[0], thread="t").state
        memory.step(first, SAID[1], thread="t")
        again = memory.step(first, SAID[1], thread="t").state
        log = log_in(tmp_path)
        assert verify(log, POLICIES, head=again.hash) == 2
        *_, last = records = list(log.records())
        doubled = {**last, "prior_state": first.canonical()}  # as an earlier version wrote it
        log.path.write_text("".join(sealed_anew([*records, doubled])))
        assert verify(log_in(tmp_path), POLICIES, head=again.hash) == 3
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        assert memory.last_state("t") == again

    def test_forks_recompute(self, tmp_path: Path) -> None:
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        root = memory.step(None, SAID[0], thread="t").state
        left = memory.step(root, SAID[1], thread="t").state
        right = memory.step(root, SAID[2], thread="t").state
        left = memory.step(left, SAID[2], thread="t").state
        right = memory.step(right, Turn.said("On."), thread="t").state
        inner = memory.step(root, Turn.said("Third."), thread="t").state
        assert len({left.branch, right.branch, inner.branch}) == 3
        assert verify(log_in(tmp_path), POLICIES, head=inner.hash) == 6

    def test_a_log_goes_on_in_another_process(self, tmp_path: Path) -> None:
        store = InMemoryStore()
        state = None
        for turn in SAID:
            memory = MemoryController(store, settings=Settings(audit=tmp_path))
            state = memory.step(state, turn, thread="t").state
            assert memory.last_state("t") == state
        assert state is not None
        assert verify(log_in(tmp_path), POLICIES, head=state.hash) == len(SAID)

    def test_two_writers_of_one_folder_take_turns(self, tmp_path: Path) -> None:
        """Two memories on a shared store step a thread in turn, and keep one log."""

        class Shared(InMemoryStore):
            @property
            def shared(self) -> bool:
                return True

        store = Shared()
        state = None
        memories = [MemoryController(store, settings=Settings(audit=tmp_path)) for _ in range(2)]
        for n in range(4):
            state = memories[n % 2].step(state, Turn.said(f"turn {n}"), thread="t").state
        assert state is not None
        assert verify(log_in(tmp_path), POLICIES, head=state.hash) == 4

    def test_no_log_has_nothing(self, tmp_path: Path) -> None:
        log = AuditLog(tmp_path / "none.jsonl")
        assert log.last() is None
        assert list(log.records()) == []
        assert verify(log, POLICIES) == 0
        assert "none" in refusal(log, head="f" * 64)


class TestPolicies:
    def test_they_may_change_in_mid_thread(self, tmp_path: Path) -> None:
        store = InMemoryStore()
        policies = [Policy(), Policy(max_tokens=1_600), Policy(style="predicates"), Policy()]
        state = None
        for n, policy in enumerate(policies):
            memory = MemoryController(store, settings=Settings(audit=tmp_path, policy=policy))
            state = memory.step(state, Turn.said(f"Never touch host-{n}."), thread="t").state
        known = {p.fingerprint: p for p in policies}
        assert state is not None
        assert verify(log_in(tmp_path), known, head=state.hash) == 4
        log = log_in(tmp_path)
        with pytest.raises(AuditError, match=r"max_tokens 1600.*line 2\D"):
            verify(log, POLICIES)

    def test_a_seeded_thread_recomputes(self, tmp_path: Path) -> None:
        first = seed(["Never share customer data."], ["Keep checkout up."])
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        state = memory.step(first, SAID[0], thread="t").state
        assert verify(log_in(tmp_path), POLICIES, head=state.hash) == 1

    def test_a_policy_of_another_name_is_asked_for(self, tmp_path: Path) -> None:
        log, _ = run(tmp_path)
        with pytest.raises(AuditError, match=r"CompressedCognitiveState.*line 1\D"):
            verify(log, {})


def small(tmp_path: Path) -> tuple[AuditLog, str]:
    """A short log of three records: failed, empty and proposed."""
    script = ScriptedCompressor(
        [
            Proposal(items=(rule("Never restart", "u1"),)),
            CompressionError("no"),
            Proposal(items=(fact("db", "port", "1", "u3"),)),
        ]
    )
    turns = [Turn.said("Never restart."), Turn.said("ok"), Turn.said("db port 1")]
    log, steps = run(tmp_path, turns, compressor=script)
    assert not any(step.commit.refused for step in steps)
    return log, steps[-1].state.hash


class TestTampering:
    @pytest.mark.parametrize(
        "flip",
        [
            pytest.param(0x01, marks=pytest.mark.slow),
            pytest.param(0x20, marks=pytest.mark.slow),
            0x80,
        ],
    )
    def test_every_changed_byte_is_found_and_its_line_named(
        self, tmp_path: Path, flip: int
    ) -> None:
        log, _ = small(tmp_path)
        honest = log.path.read_bytes()
        step = {0x01: 5, 0x20: 9, 0x80: 13}[flip]
        ends = [m.start() for m in re.finditer(b"\n", honest)]
        positions = sorted({*range(0, len(honest) - 1, step), *ends[:-1]})
        missed = []
        for at in positions:
            changed = bytearray(honest)
            changed[at] ^= flip
            line = honest.count(b"\n", 0, at) + 1
            log.path.write_bytes(changed)
            try:
                verify(AuditLog(log.path), POLICIES)
                missed.append((at, "not found"))
            except AuditError as error:
                if f"line {line}" not in error.where:
                    missed.append((at, f"{line}: {error.where}"))
        assert missed == []

    @pytest.mark.parametrize("byte", [b"", b" ", b"\x0b", b"}", b"\r", b"\x00"])
    def test_the_very_last_byte_too(self, tmp_path: Path, byte: bytes) -> None:
        """A whole record whose end of line was changed is no torn one."""
        log, _ = small(tmp_path)
        log.path.write_bytes(log.path.read_bytes()[:-1] + byte)
        if byte:
            assert "line 3" in refusal(AuditLog(log.path))
        else:
            assert verify(AuditLog(log.path), POLICIES) in (2, 3)

    @given(st.data())
    def test_bytes_put_in_or_taken_out(self, data: st.DataObject) -> None:
        import tempfile

        with tempfile.TemporaryDirectory() as folder:
            log, head = small(Path(folder))
            honest = log.path.read_bytes()
            at = data.draw(st.integers(0, len(honest) - 2))
            new = data.draw(st.one_of(st.just(b""), st.binary(min_size=1, max_size=3)))
            changed = honest[:at] + new + honest[at + (0 if new else 1) :]
            log.path.write_bytes(changed)
            refusal(AuditLog(log.path), head)

    @pytest.mark.parametrize("line", [1, 2, 3])
    def test_a_deleted_line_is_found(self, tmp_path: Path, line: int) -> None:
        log, head = small(tmp_path)
        lines = log.path.read_bytes().splitlines(keepends=True)
        log.path.write_bytes(b"".join(lines[: line - 1] + lines[line:]))
        message = refusal(AuditLog(log.path), head)
        assert f"line {line}" in message or line == 3

    @pytest.mark.parametrize(("one", "other"), [(0, 1), (1, 2), (0, 2)])
    def test_swapped_lines_are_found(self, tmp_path: Path, one: int, other: int) -> None:
        log, _ = small(tmp_path)
        lines = log.path.read_bytes().splitlines(keepends=True)
        lines[one], lines[other] = lines[other], lines[one]
        log.path.write_bytes(b"".join(lines))
        assert f"line {one + 1}" in refusal(AuditLog(log.path))

    @pytest.mark.parametrize("line", [0, 1, 2])
    def test_a_doubled_line_is_found(self, tmp_path: Path, line: int) -> None:
        log, _ = small(tmp_path)
        lines = log.path.read_bytes().splitlines(keepends=True)
        log.path.write_bytes(b"".join([*lines[: line + 1], *lines[line:]]))
        assert f"line {line + 2}" in refusal(AuditLog(log.path))

    def test_records_of_another_thread_are_found(self, tmp_path: Path) -> None:
        log, _ = small(tmp_path / "one")
        other, _ = run(tmp_path / "other")
        lines = log.path.read_bytes().splitlines(keepends=True)
        foreign = other.path.read_bytes().splitlines(keepends=True)
        log.path.write_bytes(lines[0] + foreign[1] + lines[2])
        assert "line 2" in refusal(AuditLog(log.path))

    @pytest.mark.parametrize(
        "change",
        [
            lambda r: r["state"]["constraints"][0].update(text="Always restart"),
            lambda r: r["turn"]["observations"][0].update(channel="operator"),
            lambda r: r["proposal"]["items"][0]["fields"].update(text="Never deploy"),
            lambda r: r.update(prior="0" * 64),
            lambda r: r["notes"].clear(),
            lambda r: r["prior_state"].update(version=7),
        ],
    )
    def test_a_forger_who_seals_the_record_again_is_found_all_the_same(
        self, tmp_path: Path, change: Callable[[dict[str, object]], None]
    ) -> None:
        """Digests can be made anew by anybody; the commit cannot be made to come out otherwise."""
        import hashlib

        log, _ = small(tmp_path)
        first, *_ = log.path.read_bytes().splitlines()
        record = json.loads(first)
        change(record)
        record.pop("digest")
        record["digest"] = hashlib.sha256(canonical_json(record).encode()).hexdigest()
        log.path.write_text(canonical_json(record) + "\n")
        assert "line 1" in refusal(AuditLog(log.path))

    @pytest.mark.parametrize(
        "garbage", [b"\n", b"null\n", b"[]\n", b"{}\n", b"\xff\xfe\n", b"7\n", b'"x"\n']
    )
    def test_garbage_is_an_audit_error(self, tmp_path: Path, garbage: bytes) -> None:
        log, _ = small(tmp_path)
        honest = log.path.read_bytes()
        for content, line in ((garbage + honest, 1), (honest + garbage, 4), (garbage, 1)):
            log.path.write_bytes(content)
            assert f"line {line}" in refusal(AuditLog(log.path))

    @pytest.mark.parametrize(
        "change",
        [
            lambda r: r.update(diff=[]),
            lambda r: r.update(verdicts=["all was well"]),
            lambda r: r.update(tokens=1),
        ],
    )
    def test_only_the_head_tells_what_no_commit_comes_from(
        self, tmp_path: Path, change: Callable[[dict[str, object]], None]
    ) -> None:
        """What a record tells beside its commit binds no state: the newest state's hash still holds."""
        log, _ = run(tmp_path)
        records = list(log.records())
        head, state = records[-1]["digest"], records[-1]["state"]["hash"]
        assert verify(log, POLICIES, head=head) == len(SAID)
        change(records[0])
        log.path.write_text("".join(sealed_anew(records)))
        assert verify(AuditLog(log.path), POLICIES, head=state) == len(SAID)
        assert "the log ends at record" in refusal(AuditLog(log.path), head)


def sealed_anew(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """The lines of ``records``, each chained to the one before as a forger would."""
    digest = ""
    for each in records:
        line, digest = digested({**each, "previous": digest})
        yield line


class TestTornLines:
    def test_a_torn_last_line_is_passed_over_and_the_log_goes_on(self, tmp_path: Path) -> None:
        log, _ = small(tmp_path)
        honest = log.path.read_bytes()
        ends = [m.end() for m in re.finditer(b"\n", honest)]
        for cut in (1, 2, 100, (ends[2] - ends[1]) // 2, ends[2] - ends[1] - 2):
            log.path.write_bytes(honest[: ends[1] + cut])
            assert verify(AuditLog(log.path), POLICIES) == 2
            last = AuditLog(log.path).last()
            assert last is not None
            state = State.load(last["state"])
            store = InMemoryStore()
            memory = MemoryController(store, lambda *_: Proposal(), Settings(audit=tmp_path))
            done = memory.step(state, Turn.said("db port 1"), thread="t")
            assert verify(AuditLog(log.path), POLICIES, head=done.state.hash) == 3

    def test_a_first_line_that_is_torn(self, tmp_path: Path) -> None:
        log, _ = small(tmp_path)
        log.path.write_bytes(log.path.read_bytes()[:50])
        assert AuditLog(log.path).last() is None
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        done = memory.step(None, Turn.said("x"), thread="t")
        assert verify(AuditLog(log.path), POLICIES, head=done.state.hash) == 1

    @pytest.mark.parametrize("size", [10, 65_536, 70_000, 200_000])
    def test_the_last_record_is_found_however_long(self, tmp_path: Path, size: int) -> None:
        turns = [Turn.said("one"), Turn(observations=(tool("x " * (size // 2)), user("two")))]
        log, steps = run(tmp_path, turns, input_chars=1_000_000)
        last = log.last()
        assert last is not None
        assert last["state"]["hash"] == steps[-1].state.hash
        with log.path.open("ab") as file:
            file.write(b'{"torn": "' + b"y" * size)
        last = log.last()
        assert last is not None
        assert last["state"]["hash"] == steps[-1].state.hash


# --- disks that are full ------------------------------------------------------------------

FULL = """
import resource, signal, sys
from pathlib import Path
from acc.audit.log import AuditLog
from acc.audit.verify import verify
from acc.controller import MemoryController
from acc.pipeline import Settings
from acc.errors import AuditError
from acc.state.policy import Policy
from acc.stores.in_memory import InMemoryStore
from acc.turn.turn import Turn

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder, room = Path(sys.argv[1]), int(sys.argv[2])
memory = MemoryController(InMemoryStore(), settings=Settings(audit=folder))
state = memory.step(None, Turn.said("Never restart nginx."), thread="t").state
(path,) = folder.glob("*.jsonl")
size = path.stat().st_size
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, hard))
try:
    memory.step(state, Turn.said("Alice owns checkout."), thread="t")
except AuditError as error:
    print("refused:", error)
else:
    print("acknowledged")
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
print("verified:", verify(AuditLog(path), {Policy().fingerprint: Policy()}, head=state.hash))
done = memory.step(state, Turn.said("Alice owns checkout."), thread="t")
again = memory.step(done.state, Turn.said("Bob is on call."), thread="t")
print("verified:", verify(AuditLog(path), {Policy().fingerprint: Policy()}, head=again.state.hash))
"""


NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")


KILLED = """
import os, sys
from pathlib import Path
from acc import InMemoryStore, MemoryController, Settings, Turn

Path.replace = lambda *_: os._exit(9)
MemoryController(InMemoryStore(), settings=Settings(audit=Path(sys.argv[1]))).step(None, Turn.said("x"), thread="t")
"""


@pytest.mark.slow
def test_a_writer_that_is_killed_at_the_first_record_leaves_no_log(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], timeout=60, check=False)
    assert done.returncode == 9
    assert list(tmp_path.glob("*.jsonl")) == []
    log, _ = run(tmp_path)
    assert verify(log, POLICIES) == len(SAID)
    assert [path.suffix for path in tmp_path.iterdir()] == [".jsonl"]


class TestFullDisks:
    @pytest.mark.slow
    @pytest.mark.parametrize("room", [0, 1, 500])
    def test_a_record_that_does_not_fit_is_no_commit_and_the_log_goes_on(
        self, tmp_path: Path, room: int
    ) -> None:
        done = subprocess.run(
            [sys.executable, "-c", FULL, str(tmp_path), str(room)],
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        assert done.returncode == 0, done.stdout + done.stderr
        assert lines[0].startswith("refused: the audit record cannot be written: File too large")
        assert "To fix" in lines[0]
        assert lines[1:] == ["verified: 1", "verified: 3"]

    @NEEDS_FULL
    def test_a_full_device_is_an_audit_error(self, tmp_path: Path) -> None:
        log = AuditLog.of(tmp_path, Thread(thread="t"))
        log.path.symlink_to("/dev/full")
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        with pytest.raises(AuditError, match="No space left"):
            memory.step(None, Turn.said("x"), thread="t")

    def test_a_folder_that_is_a_file_is_an_audit_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        for folder in (tmp_path / "file", tmp_path / "file" / "below"):
            memory = MemoryController(InMemoryStore(), settings=Settings(audit=folder))
            with pytest.raises(AuditError, match="To fix"):
                memory.step(None, Turn.said("x"), thread="t")

    @pytest.mark.parametrize(
        "line", ["{}", "[]", "null", '{"thread":5}', "[" * 90_000 + "]" * 90_000]
    )
    def test_a_last_line_that_tells_nothing_hides_no_thread(
        self, tmp_path: Path, line: str
    ) -> None:
        log, _ = run(tmp_path)
        with log.path.open("a") as file:
            file.write(f"{line}\n")
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        for use in (
            log.last,
            lambda: list(log.records()),
            lambda: verify(log, POLICIES),
            lambda: memory.last_state("t"),
        ):
            with pytest.raises(AuditError, match="restore the log"):
                use()

    def test_a_log_that_is_a_folder_is_an_audit_error(self, tmp_path: Path) -> None:
        log = AuditLog.of(tmp_path, Thread(thread="t"))
        log.path.mkdir()
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        with pytest.raises(AuditError):
            memory.step(None, Turn.said("x"), thread="t")
        for use in (log.last, lambda: list(log.records()), lambda: verify(log, POLICIES)):
            with pytest.raises(AuditError):
                use()

    @NEEDS_FULL
    def test_what_failed_to_be_recorded_is_stepped_again_without_doubles(
        self, tmp_path: Path
    ) -> None:
        store = InMemoryStore()
        memory = MemoryController(store, settings=Settings(audit=tmp_path))
        log = AuditLog.of(tmp_path, Thread(thread="t"))
        log.path.symlink_to("/dev/full")
        with pytest.raises(AuditError):
            memory.step(None, Turn.said("x"), thread="t")
        log.path.unlink()
        done = memory.step(None, Turn.said("x"), thread="t")
        branch = ThreadLog(store, Thread(thread="t"), lambda: "").branch("main")
        assert [a.text for a in branch.artifacts] == ["x"]
        assert verify(log, POLICIES, head=done.state.hash) == 1


class TestNames:
    @pytest.mark.parametrize(
        "name",
        ["../../etc/passwd", "a/b", ".", "..", "x" * 500, "日本" * 200, "a\x00b", "CON", "\n"],
    )
    def test_any_thread_has_its_log_in_the_folder(self, tmp_path: Path, name: str) -> None:
        memory = MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path))
        state = memory.step(None, Turn.said("x"), thread=name).state
        (path,) = tmp_path.iterdir()
        assert path.suffix == ".jsonl"
        assert memory.last_state(name) == state
        assert next(AuditLog(path).records())["thread"]["thread"] == name


def test_what_earlier_laws_made_is_held_to_its_chain_and_not_recomputed(tmp_path: Path) -> None:
    with MemoryController(InMemoryStore(), settings=Settings(audit=tmp_path)) as memory:
        memory.step(None, Turn.said("Never deploy on a Friday."), thread="t")
        policy = memory.settings.policy
    (path,) = tmp_path.glob("*.jsonl")
    entry = json.loads(path.read_text())
    for laws, found in ((None, [1]), (LAWS, None)):
        body = {k: v for k, v in {**entry, "notes": [], "laws": laws}.items() if v is not None}
        del body["digest"]
        path.write_text(digested(body)[0])
        earlier: list[int] = []
        if found is None:
            with pytest.raises(AuditError, match="gives another state"):
                verify(AuditLog(path), {policy.fingerprint: policy}, earlier=earlier)
        else:
            assert verify(AuditLog(path), {policy.fingerprint: policy}, earlier=earlier) == 1
            assert earlier == found


def test_an_acknowledged_record_is_on_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut must not leave the log behind the store, which syncs each turn."""
    synced: list[str] = []
    real = os.fsync

    def fsync(number: int) -> None:
        synced.append(Path(f"/proc/self/fd/{number}").resolve().name)
        real(number)

    monkeypatch.setattr(os, "fsync", fsync)
    log, steps = run(tmp_path)
    first, folder, *later = synced
    assert first.startswith(log.path.stem)
    assert folder == tmp_path.name
    assert later == [log.path.name] * (len(steps) - 1)
