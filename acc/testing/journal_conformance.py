"""`check_journal`: tests that a backend keeps the promises of `acc.journal.journal.Journal`.

Each promise is a function that tries to break it. Its docstring states the promise.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Barrier
from typing import Any

from acc.commit.commit import Given, commit
from acc.errors import ConflictError, InputError, StateError, StoreError
from acc.journal import Appended, Entry, Head, Journal, ThreadKey
from acc.journal.erasing import Anew
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal, ProposedPin, ProposedRecord
from acc.state.tail import Message, messages_of
from acc.turn.observations import Channel, Observation
from acc.turn.turn import Turn

POLICY = Policy()
ODD = "nul \x00, half a pair \ud800, \U0001f9e0 e\u0301, עברית, \u202e, \r\n\t'; DROP TABLE messages; --"
THREADS = 64


def check_journal(make: Callable[[], Journal]) -> None:
    """Test that a backend keeps the journal's promises: ``check_journal(lambda: Journal.open(folder))``.

    Each run uses new threads, so that the journal may hold data.

    Args:
        make: Opens the journal; called again, also while another one is open.

    Raises:
        AssertionError: A promise is broken; the error names the first one and how it failed.
    """
    for promise in PROMISES:
        journal = make()
        case = Case(journal, make)
        try:
            promise(case)
            damages = case.journal.verify([POLICY], threads=[case.key]).damages
            expect(not damages, f"verify finds {[str(each) for each in damages[:3]]}")
        except Exception as error:
            kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
            said = " ".join((promise.__doc__ or "").split())
            raise AssertionError(f"The journal breaks a promise: {said} {kind}{error}") from error
        finally:
            with suppress(Exception):
                case.journal.close()


class Case:
    """A journal, and a thread of its own."""

    def __init__(self, journal: Journal, make: Callable[[], Journal]) -> None:
        self.journal, self.make = journal, make
        self.key = ThreadKey(uuid.uuid4().hex, "tenant", "user", "agent")

    def step(self, *texts: str, branch: str = "main", **how: Any) -> Appended:
        """Take a step in which the user says some texts."""
        return step(self.journal, self.key, *texts, branch=branch, **how)

    def begun(self) -> Any:
        """Take a first step; return head and state."""
        self.step("first")
        latest: Any = self.journal.latest(self.key)
        return latest.head, latest.state

    def said(self, branch: str = "main") -> list[str]:
        """Return the texts that were committed."""
        return [each.message.text for each in self.journal.messages(self.key, branch=branch)]


def expect(is_true: object, otherwise: str) -> None:
    """Fail with a sentence."""
    if not is_true:
        raise AssertionError(otherwise)


def refused(
    kind: type[Exception], what: str, act: Callable[..., object], *args: Any, **how: Any
) -> Exception:
    """Return the error of this kind that ``act`` has to raise."""
    try:
        act(*args, **how)
    except kind as error:
        return error
    raise AssertionError(f"{what} is not refused with {kind.__name__}")


def messages(number: int, *texts: str) -> tuple[Message, ...]:
    """Return a turn of the user and the agent in turns."""
    channels = (Channel.USER, Channel.AGENT)
    seen = tuple(Observation(channel=channels[n % 2], text=t) for n, t in enumerate(texts))
    return messages_of(Turn(observations=seen, at="2026-11-03T10:00:00Z").numbered(number))


def entry(
    state: CompressedCognitiveState, turn: Sequence[Message], **given: Any
) -> Entry[CompressedCognitiveState]:
    """Return what the core commits for a turn; ``given`` are further arguments of `commit`."""
    number = turn[0].turn if turn else state.turn
    return Entry(commit(state, POLICY, Given(tuple(turn), number, **given)), POLICY)


def step(
    journal: Journal,
    key: ThreadKey | str,
    *texts: str,
    branch: str = "main",
    proposal: Proposal | None = None,
    one: bool = True,
) -> Appended:
    """Take one step, in one transaction or in two."""
    latest: Any = journal.latest(key, branch=branch)
    state = latest.state or POLICY.schema.empty()
    turn = messages(state.turn + 1, *texts)
    read = (*latest.tail, *turn) if proposal else ()
    where: Any = {"follows": latest.head.hash, "branch": branch}
    made = entry(state, turn, read=read, proposal=proposal)
    if one:
        return journal.append_and_commit(key, turn, [made], epoch=latest.head.epoch, **where)
    appended = journal.append(key, turn, **where)
    head = journal.commit(key, [made], epoch=latest.head.epoch, turn=appended, **where)
    return replace(appended, head=head, is_committed=True)


def rule(text: str, ref: str) -> Proposal:
    """Return a proposal with a rule and a fact of a message."""
    fact = ProposedRecord("relational_map", {"text": f"said: {text[:40]}"}, (ref,))
    return Proposal(rules=(ProposedPin(text, ref),), records=(fact,))


def _keeps(case: Case) -> None:
    """What was committed is there, in order, also for a journal that is opened beside."""
    for number in range(1, 6):
        case.step(f"question {number}", f"answer {number}", one=bool(number % 2))
    expect(case.said()[::2] == [f"question {n}" for n in range(1, 6)], "messages are missing")
    with case.make() as other:
        expect(other.latest(case.key) == case.journal.latest(case.key), "the other one differs")
        expect(len(list(other.commits(case.key))) == 5, "commits are missing")


def _repeats(case: Case) -> None:
    """A repeated turn finds its rows, before and after its commit."""
    turn = messages(1, "hello", "hi")
    first, again = (case.journal.append(case.key, turn) for _ in range(2))
    expect((first.is_new, again.is_new) == (True, False), "it is appended twice")
    made = entry(POLICY.schema.empty(), turn)
    head = case.journal.commit(case.key, [made], follows="", turn=first)
    expect(case.journal.commit(case.key, [made], follows="", turn=first) == head, "it moved on")
    known = case.journal.append_and_commit(case.key, turn, [made])
    expect(known.is_committed and not known.is_new, "it is committed twice")
    case.step("hello", "hi")
    expect(case.said() == ["hello", "hi"] * 2, f"what was said twice is {case.said()}")


def _conflicts(case: Case) -> None:
    """Of two steps from one head, one commits, and the other is told with the head."""
    head, state = case.begun()
    append, commit_ = case.journal.append, case.journal.commit
    at: Any = {"follows": head.hash}
    mine, theirs = messages(2, "mine"), messages(2, "theirs")
    one, two = append(case.key, mine, **at), append(case.key, theirs, **at)
    won = commit_(case.key, [entry(state, theirs)], turn=two, **at)
    late = [entry(state, mine)]
    error = refused(ConflictError, "a late commit", commit_, case.key, late, turn=one, **at)
    expect(won.hash[:16] in str(error), "the error does not name the head")
    new = messages(2, "x")
    refused(StateError, "a turn on an unknown head", append, case.key, new, follows="0" * 64)
    expect(case.said() == ["first", "theirs"], "the loser's turn counts")
    texts = case.journal.texts(case.key, ["u2", "u1", "u9"])
    expect([m.text for m in texts] == ["theirs", "first"], "texts are not those committed")
    case.step("mine")
    expect(case.said() == ["first", "theirs", "mine"], "the loser cannot go on")


def _races(case: Case) -> None:
    """Of many steps at once from one head exactly one commits."""
    head, state = case.begun()
    begin = Barrier(8)

    def race(number: int) -> Head | None:
        turn = messages(2, f"racer {number}")
        made = entry(state, turn)
        begin.wait()
        with suppress(ConflictError):
            return case.journal.append_and_commit(case.key, turn, [made], follows=head.hash).head
        return None

    with ThreadPoolExecutor(8) as pool:
        heads = [each for each in pool.map(race, range(8)) if each]
    expect(len(heads) == 1, f"{len(heads)} of 8 committed")


def _forks(case: Case) -> None:
    """A fork sees nothing that was said later on the branch that it came from, and the other way round."""
    for number in range(1, 5):
        case.step(f"main {number}", proposal=rule(f"main {number}", f"u{number}"))
    at: Any = case.journal.state(case.key, 2)
    head = case.journal.fork(case.key, at.hash, "aside")
    expect((head.version, head.branch) == (3, "aside"), f"the fork's head is {head}")
    case.step("aside 3", branch="aside")
    expect(case.said("aside") == ["main 1", "main 2", "aside 3"], f"it sees {case.said('aside')}")
    expect(case.said() == [f"main {n}" for n in range(1, 5)], "the branch sees its fork")


def _erases(case: Case) -> None:
    """After an erasure nothing holds the words, who began before is told, and the thread goes on."""
    case.step("Keep it short.", proposal=rule("Keep it short.", "u1"))
    case.step("Never tell Zanzibar.", proposal=rule("Never tell Zanzibar.", "u2"))
    latest: Any = case.journal.latest(case.key)
    head, turn = latest.head, messages(3, "late")
    case.journal.commit_anew(case.key, [Anew("main", head.hash, 1, ())], [("main", 2)])
    how: Any = {"follows": case.journal.head(case.key).hash, "epoch": head.epoch}
    late = [entry(latest.state, turn)]
    write = case.journal.append_and_commit
    refused(ConflictError, "a commit of before", write, case.key, turn, late, **how)
    expect("Zanzibar" not in "".join(case.journal.export(case.key)), "the export holds the words")
    state: Any = case.journal.state(case.key)
    expect([r.words.text for r in state.constraints] == ["Keep it short."], "rules are wrong")
    expect(not case.journal.texts(case.key, ["u2"]), "the text is still given out")
    case.step("and on")


def _exchanges(case: Case) -> None:
    """What is exported is imported whole, with its chain; a changed line is refused."""
    for number in range(1, 41):
        case.step(f"Rule {number}.", proposal=rule(f"Rule {number}.", f"u{number}"))
    at: Any = case.journal.state(case.key, 20)
    case.journal.fork(case.key, at.hash, "aside")
    lines = list(case.journal.export(case.key))
    refused(ConflictError, "an import over a thread", case.journal.import_, lines)
    case.journal.delete_thread(case.key)
    refused(StateError, "a step of a deleted thread", case.step, "x", branch="aside")
    bent = [line.replace("Rule 18.", "Rule 81.") if '"commit"' in line else line for line in lines]
    refused(InputError, "a changed line", case.journal.import_, bent)
    expect(case.journal.import_(lines) == (case.key,), "it has another name")
    expect(list(case.journal.export(case.key)) == lines, "it came back changed")
    case.step("and on")


def _takes_any_text(case: Case) -> None:
    """Texts of any characters come back as the observation holds them."""
    odd = Observation(channel=Channel.TOOL, text=ODD, name="tool \x00", call_id="c", message="m")
    turn = messages_of(Turn(observations=(odd,), at="\ud800").numbered(1))
    case.journal.append_and_commit(case.key, turn, [entry(POLICY.schema.empty(), turn)])
    found = case.journal.texts(case.key, [turn[0].ref])[0].observation
    expect(found.model_copy(update={"at": ""}) == turn[0].observation, f"{found!r} came back")
    case.step("x" * 3_000_000, "")
    expect(case.said()[1:] == ["x" * 3_000_000, ""], "a long or an empty text came back changed")


def _gives_snapshots(case: Case) -> None:
    """A snapshot reads what the journal holds, writes nothing, and ends with its block; a closed journal says so."""
    case.begun()
    with case.journal.snapshot() as seen:
        expect(seen.latest(case.key) == case.journal.latest(case.key), "it holds something else")
        refused(InputError, "a write to it", step, seen, case.key, "two")
    case.step("two")
    refused(StoreError, "a read after its end", seen.texts, case.key, ["u1"])
    for _ in range(2):
        case.journal.close()
    refused(StoreError, "a read of a closed one", case.journal.head, case.key)
    case.journal = case.make()


def _serves_many(case: Case) -> None:
    """Many threads step at once; nothing is lost, doubled or mixed up."""
    case.begun()
    keys = [ThreadKey(f"{case.key.thread}-{n}") for n in range(THREADS)]

    def work(key: ThreadKey) -> list[str]:
        for number in range(5):
            step(case.journal, key, f"{key} says {number}", one=bool(number % 2))
        return [each.message.text for each in case.journal.messages(key)]

    with ThreadPoolExecutor(THREADS) as pool:
        for key, said in zip(keys, pool.map(work, keys), strict=True):
            expect(said == [f"{key} says {n}" for n in range(5)], f"{key} holds {said}")
    report = case.journal.verify([POLICY], threads=keys)
    expect(report.is_clean and report.recomputed == THREADS * 5, "they do not recompute")


PROMISES = (
    _keeps, _repeats, _conflicts, _races, _forks, _erases, _exchanges,
    _takes_any_text, _gives_snapshots, _serves_many,
)  # fmt: skip
