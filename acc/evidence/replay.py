"""Commit a thread anew from before the erased words.

The thread returns to the last state before an erased message was taken, and takes the messages after it again, in
their turns, without the erased ones. What a commit is made of:

- Where nothing was compressed, of the messages alone.
- Where the recorded proposal did not read the words: neither an erased message, nor a state that one had left a mark
  in. The state before has to be the same, but for the erased messages' places in the tail. Such a proposal, and what
  the judge said, are committed as they were.
- On a board, of what it was told, without what rests on the words: no compressor wrote it.
- Else of what the compressor proposes now: the keyless one, or the model, whose price the plan tells.

What the operator retired is found again by its words. Nothing is written here: the journal takes all of a thread's new
commits in one transaction (`acc.journal.journal.Journal.commit_anew`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from acc.commit.commit import Commit, Given, commit
from acc.commit.sources import said_before
from acc.driving import Doing
from acc.errors import CompressionError, StateError
from acc.evidence.losses import Line, given_in, is_act, is_plain, own_policy, read_refs
from acc.evidence.traces import strings_of
from acc.gate import Verdict
from acc.journal import Entry, StoredCommit
from acc.journal.boards import AGENT
from acc.journal.committing import successor
from acc.journal.erasing import Anew, Made
from acc.journal.recompute import policy_of
from acc.journal.record import given_of
from acc.models.protocol import Usage
from acc.state.items import Pinned
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.proposal import Proposal
from acc.state.reading import claim_digest
from acc.step.result import Step
from acc.step.step import Memory, stepping
from acc.turn.observations import Evidence
from acc.turn.turn import Turn

Taint = Callable[[str], bool]
"""Whether a text holds erased words."""

_PLACE = ("hash", "signature", "parent", "version", "policy")
"""Fields of a state that say where it stands, and nothing of what it holds."""


@dataclass
class Replay:
    """Makes the commits of a thread anew.

    Args:
        memory: Who compresses now, under which policy.
        policies: Its policy, and those of threads that have another one, as boards and roles.
        bodies: The journal's policies by fingerprint (`acc.journal.journal.Journal.policies`).
        taint: Whether a text holds erased words.

    Attributes:
        usage: What the models cost.
    """

    memory: Memory[Any]
    policies: Sequence[Policy]
    bodies: Mapping[str, Any]
    taint: Taint
    usage: Usage = field(default_factory=Usage)

    def running(self, lines: Sequence[Line]) -> Doing[list[Anew]]:
        """Return what takes the place of which commits."""
        states: dict[str, CompressedCognitiveState] = {}
        found: list[Anew] = []
        for line in lines:
            if line.anew:
                found += [(yield from _Branch(self, line, states).running())]
        return found

    def policy(self, fingerprint: str) -> Policy | None:
        """Return the policy of a stored commit, if it is known."""
        return policy_of(fingerprint, self.bodies.get(fingerprint), self.policies)


_ELEMENTS = ("rules", "goals", "later", "done", "records", "next")


class _Branch:
    """The commits of one branch on their way."""

    def __init__(
        self, replay: Replay, line: Line, states: dict[str, CompressedCognitiveState]
    ) -> None:
        self._replay, self._line, self._states = replay, line, states
        self._own = own_policy(line, replay.policies)
        self._schema = self._own.schema
        self._texts = {each.message.ref: each.message for each in line.messages.values()}
        self._made: list[Made] = []
        self._before: Mapping[str, Any] = {}
        self._state: CompressedCognitiveState = self._schema.empty()

    def running(self) -> Doing[Anew]:
        line = self._line
        last = line.commits[line.stays - 1] if line.stays else None
        self._before = (last.state or {}) if last else {}
        self._state = self._old()
        for group in line.groups:
            yield from self._group(group)
            self._states |= dict.fromkeys((each.hash for each in group), self._state)
            self._before = group[-1].state or {}
        after = last.version if last else 0
        return Anew(line.head.branch, line.head.hash, after, tuple(self._made))

    def _old(self) -> CompressedCognitiveState:
        return self._schema.load(dict(self._before)) if self._before else self._schema.empty()

    def _group(self, group: Sequence[StoredCommit]) -> Doing[None]:
        first, thread = group[0], self._line.head.thread
        if first.kind == "fork":
            self._fork(first)
        elif first.kind == "taken":
            raise StateError(
                f"version {first.version} came from outside after the erased words: what it was made of is not here",
                where=f"{thread}, branch {self._line.head.branch}",
                hint="erase the thread whole",
            )
        elif is_act(first) and "withdrawn" not in given_in(first):
            self._retire(first)
        elif self._is_kept(group):
            for each in group:
                self._as_recorded(each)
        else:
            yield from self._anew(group)

    def _fork(self, stored: StoredCommit) -> None:
        if stored.parent not in self._states:  # its parent stays, and so does what it forked from
            raise StateError("a fork's parent is missing", where=str(self._line.head.thread))
        body = successor(self._states[stored.parent].canonical(), branch=self._line.head.branch)
        self._state = self._schema.load(body)
        self._made.append(Made(body, "fork", (), stored.seq, stored.at))

    def _retire(self, stored: StoredCommit) -> None:
        """Retire what the operator retired, by its words: ids are given anew."""
        ids = (given_in(stored)["proposal"]).get("drop", ())
        words = {(slot.name, item.text_of) for slot, item in self._old().items() if item.id in ids}
        drop = tuple(i.id for slot, i in self._state.items() if (slot.name, i.text_of) in words)
        policy = self._policy_of(stored)
        given = Given(proposal=Proposal(drop=drop, author="operator"))
        done = commit(self._state, policy, given)
        self._keep(Entry(done, policy, outcome=self._clean("outcome", stored)), (), stored)

    def _is_kept(self, group: Sequence[StoredCommit]) -> bool:
        """Whether what was proposed is committed as it was: nobody compressed, or nobody read the erased words."""
        if is_plain(group) or is_act(group[0]) or self._line.head.thread.agent == AGENT:
            return True
        gone = self._line.gone
        if any(self._replay.policy(each.policy) is None for each in group):
            return False
        if self._line.loses(group[0]) or any(not read_refs(e).isdisjoint(gone) for e in group):
            return False
        return self._held(self._before) == self._held(self._state.canonical())

    def _held(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a state holds beside where it stands, without the erased messages' places in the tail."""
        found = {key: value for key, value in body.items() if key not in _PLACE}
        tail = [each for each in body.get("unread", ()) if each["ref"] not in self._line.gone]
        return {**found, "unread": tail}

    def _as_recorded(self, stored: StoredCommit) -> None:
        turn = self._line.taken(stored)
        said = [each.message for each in turn]
        given = given_of(self._left(stored), said, self._texts.__getitem__)
        before = tuple(note for note in given.before if note.ref not in self._line.gone)
        given = replace(given, before=before)
        if self._line.head.thread.agent == AGENT:
            given = self._pared(given)
        policy = self._policy_of(stored)
        done: Commit[Any] = commit(self._state, policy, given)
        record = stored.record or {}
        entry = Entry(
            done, policy, Usage(**record.get("usage", {})), record.get("outcome", ""),
            self._clean("failure", stored), self._verdicts(stored),
        )  # fmt: skip
        self._keep(entry, [each.seq for each in turn], stored)

    def _left(self, stored: StoredCommit) -> dict[str, Any]:
        given = dict(given_in(stored))
        given["read"] = [e for e in given.get("read", ()) if e[0] not in self._line.gone]
        return {**(stored.record or {}), "given": given}

    def _pared(self, given: Given) -> Given:
        """Take from what a board was told what rests on the erased words: each element is a sentence of its own."""
        claims = {claim_digest(i) for _, i in self._state.items() if isinstance(i, Pinned)}
        judgements = tuple(each for each in given.judgements if each.digest in claims)
        given, proposal = replace(given, judgements=judgements), given.proposal
        if proposal is None:
            return given
        old = self._old()
        new = {(slot.name, item.text_of): item.id for slot, item in self._state.items()}
        ids = {item.id: new.get((slot.name, item.text_of), "") for slot, item in old.items()}
        lists: dict[str, Any] = {
            name: tuple(self._kept(getattr(proposal, name), ids)) for name in _ELEMENTS
        }
        drop = tuple(ids[each] for each in proposal.drop if ids.get(each))
        left = replace(proposal, **lists, drop=drop, minor=(), keep=(), notes=())
        return replace(given, proposal=left)

    def _kept(self, elements: Iterable[Any], ids: Mapping[str, str]) -> Iterator[Any]:
        """Yield the elements that stay, with the ids that their items have now."""
        for each in elements:
            refs = {getattr(each, "ref", ""), *getattr(each, "refs", ())}
            texts = strings_of({k: v for k, v in asdict(each).items() if k != "slot"})
            is_tainted = any(map(self._replay.taint, texts))
            is_there = bool(ids.get(each.id, True))
            if is_there and not is_tainted and refs.isdisjoint(self._line.gone):
                yield replace(each, id=ids.get(each.id, each.id))

    def _anew(self, group: Sequence[StoredCommit]) -> Doing[None]:
        first = group[0]
        turn, policy = self._line.taken(first), self._policy_of(first)
        said = Turn(
            observations=tuple(each.message.observation for each in turn),
            number=first.turn, at=turn[0].message.at if turn else first.at,
        )  # fmt: skip
        tail = [self._texts[e.ref] for e in self._state.unread if e.ref in self._texts]
        step: Step[Any] = yield from stepping(
            replace(self._replay.memory, policy=policy), self._state, said, texts=tail,
            evidence=self._evidence(first), force=first.record is not None,
            earlier=lambda _, texts: said_before(texts, self._texts.values()),
        )  # fmt: skip
        if step.failure:
            raise CompressionError(
                f"the model failed at turn {first.turn}; nothing was erased: {step.failure}"[:400],
                where=str(self._line.head.thread),
                hint="erase again when it answers, or with a keyless memory",
            )
        self._replay.usage += step.usage
        nothing = commit(self._state, policy, Given(number=first.turn))
        one, *further = step.commits or (nothing,)
        entry = Entry(one, policy, step.usage, verdicts=self._verdicts(first))
        self._keep(entry, [each.seq for each in turn], first)
        for each in further:
            self._keep(Entry(each, policy), (), first)

    def _evidence(self, stored: StoredCommit) -> tuple[Evidence, ...]:
        found = [Evidence.model_validate(each) for each in given_in(stored).get("evidence", ())]
        gone, taint = self._line.gone, self._replay.taint
        return tuple(each for each in found if each.ref not in gone and not taint(each.text))

    def _verdicts(self, stored: StoredCommit) -> tuple[Verdict, ...]:
        found = (Verdict(*each) for each in (stored.record or {}).get("verdicts", ()))
        return tuple(each for each in found if each.ref not in self._line.gone)

    def _clean(self, name: str, stored: StoredCommit) -> str:
        """Return a note of the record; of a failure, its kind alone: it may quote what was read."""
        text = str((stored.record or {}).get(name, ""))
        text = text.partition(":")[0] if name == "failure" else text
        return "" if self._replay.taint(text) else text

    def _policy_of(self, stored: StoredCommit) -> Policy:
        return self._replay.policy(stored.policy) or self._own

    def _keep(self, entry: Entry[Any], taken: Sequence[int], stored: StoredCommit) -> None:
        state = self._state = entry.commit.state
        made = Made(state.canonical(), "step", tuple(taken), stored.seq, stored.at, entry)
        self._made.append(made)
