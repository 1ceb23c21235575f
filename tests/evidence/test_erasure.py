"""Erasure: nothing of what was said stays in any file, and the thread goes on without it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from acc import MemoryController, Turn
from acc.audit.redaction import Erased, Traces, erased_state
from acc.audit.verify import verify
from acc.errors import AuditError, InputError, PinnedOverflow, StateError
from acc.evidence.erasure import Erasure, Receipt, refuse_unproved
from acc.evidence.erasure_plan import Target, plan_erasure
from acc.evidence.marks import folders
from acc.evidence.references import hold
from acc.state.model import CompressedCognitiveState, Doubted, Evicted, RetiredRule
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedItem
from acc.stores.directory import namespace
from acc.stores.protocol import Artifact, Thread, managed
from acc.stores.shelf import Shelf
from acc.stores.tombstones import Why, tombstone_of
from acc.turn.observations import Trust

SECRET = "Never call patient Ottilie Quandt on +41 79 555 01 23, her file is MRN-88121-Z."
ABOUT = ("Ottilie Quandt", "+41 79 555", "MRN-88121-Z", "ottilie", "quandt")
BEFORE = (
    "The billing service runs on host bill-db-7.",
    "Never restart nginx during business hours.",
)
AFTER = ("Checkout is slow: p95 is 4.2s. Why?", "What do we know of the billing service?")


def talk(memory: MemoryController, thread: str | Thread = "inc", *said: str) -> None:
    state = memory.last_state(thread)
    for words in said or (*BEFORE, SECRET, *AFTER):
        state = memory.step(state, Turn.said(words), thread=thread).state


def erased(memory: MemoryController, target: Target) -> Receipt:
    plan = plan_erasure(memory.artifacts, memory.settings.audit, target)
    return Erasure(memory).erase(plan)


def raw(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def standing(folder: Path, words: tuple[str, ...] = ABOUT) -> list[tuple[str, str]]:
    """Which of the words stand in which file: plain, or as JSON escapes them."""
    return [
        (name, word)
        for name, data in raw(folder).items()
        for word in words
        if word.encode() in data or json.dumps(word)[1:-1].encode() in data
    ]


def speaks(state: CompressedCognitiveState) -> bool:
    """Whether the state still says something of it, as whatever item the compressor made of it."""
    return any(word.lower() in state.render().lower() for word in ABOUT)


@pytest.mark.parametrize(
    ("message", "why", "stays"),
    [
        ("2c9c2b5e-7f0d-4b8e-9d0a-000000000000", "erased", True),
        (hashlib.sha256(SECRET.encode()).hexdigest()[:24], "erased", False),
        (hashlib.sha256(SECRET.encode()).hexdigest()[:24], "pruned", True),
    ],
)
def test_a_message_whose_words_went_is_known_by_its_id_unless_that_tells_them(
    message: str, why: Why, stays: bool
) -> None:
    said = Artifact(
        id="i", thread="t", branch="main", seq=1, turn=1, text=SECRET, message=message, ref="u1"
    )
    assert tombstone_of(said, why, "now").message == (message if stays else "")


def test_an_erased_message_is_in_no_file_and_the_thread_goes_on(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        before = memory.last_state("inc")
        assert before is not None
        assert SECRET[:-1] in before.render()
        assert standing(tmp_path)
        receipt = erased(memory, Target(thread="inc", artifact="u3"))
        assert receipt.proved
        refuse_unproved(receipt)
        after = memory.last_state("inc")
        assert after is not None
        assert not speaks(after)
        assert "Never restart nginx" in after.render()
        assert (after.turn, after.version, after.parent) == (5, before.version + 1, before.hash)
        assert standing(tmp_path) == []
        with pytest.raises(StateError, match="still holds erased evidence"):
            memory.step(before, Turn.said("Go on."), thread="inc")
        talk(memory, "inc", "Is bill-db-7 healthy?")
    assert standing(tmp_path) == []
    assert "erasure.json" not in raw(tmp_path)


def test_the_log_still_verifies_and_counts_what_was_redacted(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        erased(memory, Target(thread="inc", artifact="u3"))
        talk(memory, "inc", "Is bill-db-7 healthy?")
        log = memory._audit_of(Thread(thread="inc"))
    assert log is not None
    policy = Policy()
    gone: list[int] = []
    assert verify(log, {policy.fingerprint: policy}, redacted=gone) == 7
    assert gone
    assert 1 not in gone
    assert 7 not in gone


@pytest.mark.parametrize(
    ("field", "value"), [("trust", "operator"), ("text", "Always restart nginx."), ("id", "c99")]
)
def test_a_tombstone_commit_that_does_more_than_take_out_is_found(
    tmp_path: Path, field: str, value: str
) -> None:
    from acc.audit.record import digest_of
    from acc.audit.redaction import state_hash
    from acc.text.lines import canonical_json

    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        erased(memory, Target(thread="inc", artifact="u3"))
        log = memory._audit_of(Thread(thread="inc"))
    assert log is not None
    *lines, last = log.path.read_text().splitlines()
    entry = json.loads(last)
    entry["state"]["constraints"][0][field] = value
    entry["state"]["hash"] = state_hash(entry["state"])
    entry["digest"] = digest_of(entry)
    log.path.write_text("\n".join([*lines, canonical_json(entry), ""]))
    policy = Policy()
    with pytest.raises(AuditError, match="not a valid tombstone commit"):
        verify(log, {policy.fingerprint: policy})


def test_an_erasure_takes_feedback_and_doubts_out_of_a_state() -> None:
    said = RetiredRule(text="Never restart nginx", because="You can do it").model_dump()
    state = CompressedCognitiveState.empty().model_copy(
        update={
            "feedback": (f'uncited: relational_map "{SECRET}"',),
            "doubted": (Doubted(id="c1", text=SECRET[:40], because=SECRET),),
            "lifted": (RetiredRule.model_validate(said),),
            "evicted": (
                Evicted(id="r4", text="billing host", ref="u3", trust=Trust.USER),
                Evicted(id="r5", text=SECRET[:40], ref="u1", trust=Trust.USER),
            ),
        }
    )
    erased = Erased(frozenset({"u3"}), Traces([SECRET]))
    after, gone = erased_state(state.sealed().canonical(), erased)
    again = CompressedCognitiveState.load(after)
    assert (again.feedback, again.doubted, len(again.lifted)) == ((), (), 1)
    assert again.canonical() == after
    assert "evicted" not in after
    assert {leaving.id for leaving in gone} == {"feedback", "doubted", "u3", "u1"}


def reporting(turn: Turn, *_: object) -> Proposal:
    """Make one long fact of each message; its first two words are the subject."""
    words = turn.user_words.split()
    fields = {"subject": " ".join(words[:2]), "predicate": "is", "object": " ".join(words[2:])}
    item = ProposedItem(slot="relational_map", fields=fields, cites=(turn.observations[0].ref,))
    return Proposal(items=(item,), author="test/1")


def filling(n: int) -> str:
    """120 characters that no other number has."""
    return " ".join(hashlib.sha256(f"{n} {part}".encode()).hexdigest()[:11] for part in range(10))


def test_an_erasure_reaches_the_trace_of_what_was_evicted(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path, compressor=reporting, max_tokens=150) as memory:
        for n in range(9):
            name = "Ottilie Quandt" if n == 2 else f"host {n}"
            talk(memory, "inc", f"{name} {filling(n)}")
        state = memory.last_state("inc")
        assert state is not None
        before = [(entry.text, entry.ref) for entry in state.evicted]
        assert ("Ottilie Quandt is", "u3") in before
        assert all("Ottilie" not in str(item) for _, item in state.items())
        erasure = Erasure(memory)
        assert erasure.erase(erasure.plan(Target(thread="inc", artifact="u3"))).proved
        after = memory.last_state("inc")
        assert after is not None
        left = [(entry.text, entry.ref) for entry in after.evicted]
        assert left == [entry for entry in before if entry[1] != "u3"]
        assert standing(tmp_path) == []
        talk(memory, "inc", f"host 9 {filling(9)}")
        assert "Quandt" not in str(memory.last_state("inc"))
        log, policy = memory._audit_of(Thread(thread="inc")), memory.settings.policy
        assert log is not None
        assert verify(log, {policy.fingerprint: policy}) == 11
    assert standing(tmp_path) == []


def test_a_record_marked_as_redacted_without_an_erasure_is_found(tmp_path: Path) -> None:
    from acc.audit.record import digest_of
    from acc.text.lines import canonical_json

    with MemoryController.open(tmp_path) as memory:
        talk(memory, "inc", *BEFORE)
        log = memory._audit_of(Thread(thread="inc"))
    assert log is not None
    first, last = log.path.read_text().splitlines()
    entry = {**json.loads(last), "redacted": True}
    entry["digest"] = digest_of(entry)
    log.path.write_text("\n".join([first, canonical_json(entry), ""]))
    policy = Policy()
    with pytest.raises(AuditError, match="erasures account for 0"):
        verify(log, {policy.fingerprint: policy})


def test_a_thread_goes_whole_and_another_stays(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory, "inc", SECRET)
        talk(memory, "other", *BEFORE)
        receipt = erased(memory, Target(thread="inc"))
        assert receipt.proved
        assert memory.last_state("inc") is None
        kept = memory.last_state("other")
        assert kept is not None
        assert memory.open_evidence("u1", kept, thread="other") == BEFORE[0]
    assert standing(tmp_path) == []


def test_a_user_goes_whole_with_every_agent_and_another_user_stays(tmp_path: Path) -> None:
    eve, eve_too = (Thread(thread="t1", user="eve", agent=a) for a in ("default", "coder"))
    bob = Thread(thread="t1", user="bob")
    with MemoryController.open(tmp_path) as memory:
        for who, words in ((eve, SECRET), (eve_too, SECRET + " Twice."), (bob, BEFORE[0])):
            memory.step(None, Turn.said(words), thread=who)
        receipt = erased(memory, Target(user="eve"))
        assert receipt.proved
        assert receipt.logs == 2
        assert memory.last_state(bob) is not None
        assert not [i for i in memory.artifacts.ids("default") if i.startswith(eve.key)]
    assert standing(tmp_path) == []


def test_what_repeats_the_words_goes_with_them_unless_told(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory, "inc", SECRET, f"I repeat: {SECRET}", BEFORE[0])
        audit = memory.settings.audit
        target = Target(thread="inc", artifact="u1")
        assert plan_erasure(memory.artifacts, audit, target).echoes == ("u2",)
        assert plan_erasure(memory.artifacts, audit, target, echoes=False).echoes == ()
        assert erased(memory, target).proved
    assert standing(tmp_path) == []


def test_what_another_user_said_too_is_theirs(tmp_path: Path) -> None:
    bob = Thread(thread="t", user="bob")
    with MemoryController.open(tmp_path) as memory:
        talk(memory, "inc", SECRET)
        memory.step(None, Turn.said(SECRET), thread=bob)
        receipt = erased(memory, Target(thread="inc"))
        assert receipt.traces == ()
        theirs = memory.last_state(bob)
        assert theirs is not None
        assert memory.open_evidence("u1", theirs, thread=bob) == SECRET


def test_a_stray_copy_is_found_and_named(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        (tmp_path / "backup.bin").write_bytes(b"\x00" * 4093 + SECRET.encode() + b"\x01")
        receipt = erased(memory, Target(thread="inc", artifact="u3"))
        assert {trace.path.name for trace in receipt.traces} == {"backup.bin"}
        with pytest.raises(Exception, match=r"backup\.bin at byte"):
            refuse_unproved(receipt)


def test_a_hold_stops_an_erasure_unless_overruled(tmp_path: Path) -> None:
    thread = Thread(thread="inc")
    with MemoryController.open(tmp_path) as memory:
        talk(memory, "inc", SECRET)
        hold(Shelf(memory.artifacts, namespace(), "usage"), thread, "u1", "case 17", "2026-01-01Z")
        audit = memory.settings.audit
        for target in (
            Target(thread="inc", artifact="u1"),
            Target(thread="inc"),
            Target("default"),
        ):
            with pytest.raises(InputError, match="case 17"):
                plan_erasure(memory.artifacts, audit, target)
        plan = plan_erasure(memory.artifacts, audit, Target(thread="inc"), despite_holds=True)
        assert Erasure(memory).erase(plan).proved


@pytest.mark.parametrize(
    "target", [Target(thread="nothing"), Target(user="nobody"), Target(thread="inc", artifact="u9")]
)
def test_what_is_not_there_is_an_error(tmp_path: Path, target: Target) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory, "inc", BEFORE[0])
        with pytest.raises(InputError, match="no evidence of the"):
            erased(memory, target)


@pytest.mark.parametrize("damage", [b"\n", b"\x00\x00\n", b"{}\n", b"no record at all\n"])
def test_a_damaged_log_of_one_user_stops_no_erasure_of_another(
    tmp_path: Path, damage: bytes
) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory, Thread(thread="hers", user="ana"), "The ledger runs on host-3.")
        talk(memory, Thread(thread="inc", user="eve"))
        (hers,) = (tmp_path / "audit").glob("hers-*.jsonl")
        with hers.open("ab") as file:
            file.write(damage)
        assert erased(memory, Target(user="eve")).proved
        with pytest.raises(AuditError, match="restore the log"):
            erased(memory, Target(user="ana", thread="hers", artifact="u1"))
    with MemoryController.open(tmp_path) as memory:
        assert memory.resumed == []


def test_a_record_that_a_kill_left_half_written_goes_too(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path) as memory:
        talk(memory)
        half = tmp_path / "audit" / "inc-of-somebody.half"
        half.write_text(f'{{"turn": "{SECRET}', encoding="utf-8")
        assert erased(memory, Target(thread="inc", artifact="u3")).proved
        assert not half.exists()


@pytest.mark.parametrize(
    "named", [{}, {"thread": ""}, {"user": "eve", "thread": ""}, {"thread": "inc", "artifact": ""}]
)
def test_a_name_that_is_empty_never_means_more(named: dict[str, str]) -> None:
    """As where a variable of a script is not set."""
    with pytest.raises(InputError, match=r"is named|is empty"):
        Target(**named)


def test_it_searches_the_store_and_the_audit_logs_wherever_they_are(tmp_path: Path) -> None:
    with MemoryController.open(tmp_path / "store", audit=tmp_path / "logs" / "audit") as memory:
        talk(memory)
        assert folders(memory) == [tmp_path / "logs", tmp_path / "store"]
        assert erased(memory, Target(thread="inc", artifact="u3")).proved
    assert standing(tmp_path) == []


def test_of_refused_words_that_are_erased_no_digest_stays(tmp_path: Path) -> None:
    """The note that they were refused is found by a digest of them, which would prove a guess."""
    refused = Turn.said(SECRET)
    with MemoryController.open(tmp_path, policy=Policy(max_tokens=64)) as memory:
        state = memory.step(None, Turn.said(BEFORE[1]), thread="inc").state
        other = (
            "Never deploy checkout, the ledger or the billing gateway on a Friday without asking "
            "the platform team in Bern first."
        )
        state = memory.step(state, Turn.said(other), thread="inc").state
        with pytest.raises(PinnedOverflow):
            memory.step(state, refused, thread="inc")
        assert memory.was_refused(refused, thread="inc")
        assert erased(memory, Target(thread="inc", artifact="u3")).proved
        assert not memory.was_refused(refused, thread="inc")
        notes = managed(memory.artifacts).ids("default", kind="refusal")
        assert all(a.identity.startswith("erased:") for a in memory.artifacts.get("default", notes))
        assert notes
        memory.step(state, Turn.said("Go on."), thread="inc")


def test_a_conversation_goes_with_the_runs_of_the_agents_inside_it(tmp_path: Path) -> None:
    nested = Thread(thread="inc", agent="finder#0123456789ab")
    named = Thread(thread="inc", agent="finder")
    with MemoryController.open(tmp_path) as memory:
        for who in (Thread(thread="inc"), nested, named):
            memory.step(None, Turn.said(SECRET), thread=who)
        receipt = erased(memory, Target(thread="inc"))
        assert not memory.artifacts.get("default", memory_ids(memory, nested))
        assert memory.artifacts.get(
            "default", memory_ids(memory, named)
        )  # it is another's, by name
        assert receipt.effects.dropped
        assert erased(memory, Target(thread="inc", agent="finder")).proved


def memory_ids(memory: MemoryController, thread: Thread) -> list[str]:
    return managed(memory.artifacts).ids("default", thread=thread.key)
