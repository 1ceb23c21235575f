"""Experience memory: tasks and their executions, shown again for similar tasks.

An optional channel outside the state: the agent reads its results as demonstrations, limited in
number and size. Nothing of it reaches the CCS, and no law covers it. A wrong execution teaches the
next one to be wrong. Addition and deletion are therefore policies, and the similarity of tasks and
of executions is measured.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, ParamSpec, Self, TypeVar

from acc.errors import ConfigurationError, InputError
from acc.evidence.addition import Addition, Judgement
from acc.evidence.deletion import Deletion, Doomed, Keep
from acc.evidence.unfinished import Prunes
from acc.evidence.usage import (
    Event,
    Tally,
    Usage,
    checked_utility,
    compact,
    execution_ledger,
    holds,
    record_event,
)
from acc.recall.dense import Likeness, Rows, Vectoriser, cosine, lexical, texts_alike
from acc.stores.directory import ensure_enrolled
from acc.stores.protocol import Artifact, ArtifactStore, Thread, split_text
from acc.stores.shelf import Shelf
from acc.turn.observations import Channel, storable
from acc.turn.redact import Redact, redactor


@dataclass(frozen=True)
class Experience:
    """A task (the paper's q) and its execution (e), with a name in their namespace."""

    ref: str
    task: str
    execution: str
    judgement: Judgement


class Demonstration(NamedTuple):
    """An experience found for a task, and the similarity of the two tasks."""

    experience: Experience
    similarity: float


@dataclass(frozen=True)
class Finished:
    """The result of finishing an execution.

    Attributes:
        judgement: The evaluator's judgement.
        ref: Name of the experience in memory; empty if it was refused.
        deleted: Reason of each deletion by the deletion policy, by ref.
        input_similarity: Similarity of the task to the most similar one shown; -1 if none was.
        output_similarity: Similarity of the two executions.
    """

    judgement: Judgement
    ref: str = ""
    deleted: dict[str, str] = field(default_factory=dict)
    input_similarity: float = -1.0
    output_similarity: float = -1.0


@dataclass(frozen=True)
class Retrieval:
    """Settings for finding demonstrations.

    Attributes:
        k: The paper's K.
        chars: Limit, in characters, of all demonstrations together; the least similar are dropped
            first. A demonstration that exceeds it alone is never shown.
        least: Minimum similarity of a demonstration.
        vector: Converts a task to a vector.
        likeness: Compares two vectors.
        outputs_alike: Compares two executions.
    """

    k: int = 4
    chars: int = 16_000
    least: float = 0.0
    vector: Vectoriser = lexical
    likeness: Likeness = cosine
    outputs_alike: Callable[[str, str], float] = texts_alike


def render_demonstrations(shown: Sequence[Demonstration]) -> str:
    """Render demonstrations for the agent, the most similar last, next to the task."""
    return "\n\n".join(
        f"Task: {d.experience.task}\nExecution: {d.experience.execution}" for d in reversed(shown)
    )


class ExperienceMemory:
    """The experiences of a namespace. Not safe for use by several threads at once.

    `AsyncExperienceMemory` serves several tasks. Creating the object finishes deletions that a
    killed process began; `resumed` is their number.

    Args:
        store: The store of the experiences; deletion needs `acc.stores.protocol.ManagedStore`.
        space: The namespace (`acc.stores.directory.namespace`).
        now: Returns the time in the format of records.
        addition: Decides which executions are kept.
        deletion: Decides which experiences are deleted, after each execution.
        retrieval: Settings for finding demonstrations.
        shared: Whether experiences of one conversation may be shown in every other, if the
            namespace names no user.
        redact: Removes secrets, like `acc.pipeline.session.Settings.redact`.

    Raises:
        ConfigurationError: The namespace names no user, and ``shared`` is False.
    """

    def __init__(
        self,
        store: ArtifactStore,
        space: Thread,
        now: Callable[[], str],
        *,
        addition: Addition | None = None,
        deletion: Deletion | None = None,
        retrieval: Retrieval | None = None,
        shared: bool = False,
        redact: Redact | Literal["secrets"] | None = "secrets",
    ) -> None:
        if not (shared or space.has_user):
            raise ConfigurationError(
                "experiences without a known user would be shown to every user",
                where="ExperienceMemory",
                hint='name the user: namespace(user="ana"); or pass shared=True, if what one '
                "conversation did may be shown in all of them",
            )
        self.addition = addition or Addition("none")
        self.deletion = deletion or Keep()
        self.retrieval = retrieval or Retrieval()
        self.redact = redactor(redact)
        self.shelf = Shelf(store, space, "experiences")
        self.quarantine = Shelf(store, space, "quarantine")
        self._enrolled = False
        self._now = now
        usage = Shelf(store, space, "usage")
        self.resumed = Prunes(usage, now).resume()
        if compact(store, space, now):
            usage = Shelf(store, space, "usage")
        self._usage = usage
        self._prunes = Prunes(usage, now)
        self._ledger = execution_ledger(self._usage.records())
        self._known: dict[str, Experience] = {}
        self._usages: dict[str, Usage] = {}
        self._rows = Rows()
        for experience, added in self._read():
            self._note(experience, added)

    def __len__(self) -> int:
        return len(self._known)

    def experiences(self) -> list[Experience]:
        """Return all experiences, oldest first."""
        return list(self._known.values())

    def retrieve(self, task: str) -> list[Demonstration]:
        """Return the most similar experiences, best first, ties by the latest. Writes nothing."""
        if not self._known:
            return []
        how = self.retrieval
        found: list[Demonstration] = []
        room = how.chars
        for ref, score in self._rows.best(how.vector(task), how.k, how.likeness):
            experience = self._known[ref]
            size = len(experience.task) + len(experience.execution)
            if size > how.chars:
                continue
            room -= size
            if room < 0 or score < how.least:
                break
            found.append(Demonstration(experience, score))
        return found

    def finish(
        self,
        task: str,
        execution: str,
        shown: Sequence[Demonstration] = (),
        *,
        utility: float | None = None,
    ) -> Finished:
        """Judge a finished execution, count its demonstrations, store it, apply deletion.

        Args:
            task: The task.
            execution: The agent's work on it.
            shown: The demonstrations that the agent was shown.
            utility: Quality of the execution; by default the evaluator's.

        Raises:
            InputError: The task has no words, or the utility is not a finite number.
            StoreError: The result cannot be written.
        """
        self.check(task, utility)
        task, execution = self.storable_text(task), self.storable_text(execution)
        judgement = self.addition.judge(task, execution)
        return self.take(task, execution, shown, judgement, utility)

    @staticmethod
    def check(task: str, utility: float | None = None) -> None:
        """Raise `InputError` if the task is empty, or the utility is not a finite number."""
        if not task.strip():
            raise InputError("the task is empty", where="finish", hint="give the words of the task")
        if utility is not None:
            checked_utility(utility, "finish")

    def take(
        self,
        task: str,
        execution: str,
        shown: Sequence[Demonstration],
        judgement: Judgement,
        utility: float | None,
    ) -> Finished:
        """Do the work of `finish` after the judgement."""
        task, execution = self.storable_text(task), self.storable_text(execution)
        worth = judgement.utility if utility is None else utility
        alike = self._alike(execution, shown)
        keys = tuple(self._key(d.experience.ref) for d in shown)
        event = Event(of=keys, utility=worth, input_similarity=alike[0], output_similarity=alike[1])
        record_event(self._usage, event, self._now())
        self._ledger.add_retrieval(keys, worth)
        self._ledger.similarities.append(alike)
        ref = self._keep(task, execution, judgement) if judgement.admitted else ""
        if not judgement.admitted and self.addition.quarantines:
            self._put(task, execution, self.t, judgement)
        return Finished(judgement, ref, self._delete(), *alike)

    def seed(self, task: str, execution: str, judgement: Judgement | None = None) -> str:
        """Add an experience without a judgement, such as an expert's; return its ref."""
        self.check(task)
        said = judgement or Judgement(admitted=True, reason="seeded", evaluator="operator")
        kept = said.model_copy(update={"admitted": True})
        return self._keep(self.storable_text(task), self.storable_text(execution), kept)

    def storable_text(self, text: str) -> str:
        """Return ``text`` as stored: without secrets and characters that no store can hold."""
        return storable(self.redact(text) if self.redact is not None else text)

    def feedback(self, ref: str, utility: float) -> None:
        """Record the utility of an experience."""
        if ref not in self._known:
            raise InputError(
                f"there is no experience {ref!r}", where="feedback", hint="give an experience's ref"
            )
        worth = checked_utility(utility, "feedback")
        event = Event(of=(self._key(ref),), kind="feedback", utility=worth)
        record_event(self._usage, event, self._now())
        self._ledger.add_utility(event.of, utility)

    def usages(self) -> list[Usage]:
        """Return the usage of each experience, kept up to date, as input of the deletion policy."""
        return list(self._usages.values())

    @property
    def similarities(self) -> list[tuple[float, float]]:
        """Per execution: similarity of its task to the most similar one shown, and of outputs."""
        return list(self._ledger.similarities)

    @property
    def t(self) -> int:
        """Number of executions so far: the paper's t."""
        return self._ledger.t

    def _alike(self, execution: str, shown: Sequence[Demonstration]) -> tuple[float, float]:
        if not shown:
            return -1.0, -1.0
        best = max(shown, key=lambda d: d.similarity)
        alike = self.retrieval.outputs_alike(execution, best.experience.execution)
        return best.similarity, float(alike)

    def _put(self, task: str, execution: str, t: int, judgement: Judgement) -> str:
        """Store an experience on the shelf that its judgement selects; return its ref."""
        shelf, word = (self.shelf, "exp") if judgement.admitted else (self.quarantine, "refused")
        if not self._enrolled:
            ensure_enrolled(shelf.store, [shelf.space], self._now())
            self._enrolled = True
        said = {"task": task, "execution": execution, "t": t}
        texts = split_text(json.dumps(said, ensure_ascii=False))
        ref = f"{word}.{shelf.next_seq()}"
        shelf.append(
            [
                Artifact(
                    id="", thread="", branch="", seq=0, turn=0, kind="experience", ref=ref,
                    part=part, parts=len(texts), channel=Channel.AGENT, text=piece,
                    identity=f"{ref}.{part}", reason=judgement.model_dump_json(), at=self._now(),
                )
                for part, piece in enumerate(texts)
            ]
        )  # fmt: skip
        return ref

    def _read(self) -> Iterator[tuple[Experience, int]]:
        """Yield stored experiences, oldest first, each with the time of its addition."""
        groups: dict[str, list[Artifact]] = {}
        for record in self.shelf.records():
            groups.setdefault(record.ref, []).append(record)
        for ref, parts in groups.items():
            # Skip a partly written experience: its ref was never returned.
            if len(parts) == parts[0].parts:
                parts.sort(key=lambda part: part.part)
                said = json.loads("".join(part.text for part in parts))
                judgement = Judgement.model_validate_json(parts[0].reason)
                yield Experience(ref, said["task"], said["execution"], judgement), said["t"]

    def _keep(self, task: str, execution: str, judgement: Judgement) -> str:
        ref = self._put(task, execution, self.t, judgement)
        self._note(Experience(ref, task, execution, judgement), self.t)
        return ref

    def _delete(self) -> Doomed:
        if not self.deletion.due(self.t):
            return {}
        doomed = self.deletion.run(self.usages(), self.t)
        held = holds(self._usage.records() if doomed else ())
        gone = {key.partition(":")[2]: why for key, why in doomed.items() if held.on(key) is None}
        if gone:
            ids = [a.id for a in self.shelf.records() if a.ref in gone]
            self._prunes.prune(ids)
            self.shelf.reread(ids)
            for ref in gone:
                del self._known[ref], self._usages[ref]
            self._rows.remove(gone)
        return gone

    def _note(self, experience: Experience, added: int) -> None:
        ref = experience.ref
        tally = self._ledger.tallies.setdefault(self._key(ref), Tally())
        self._known[ref] = experience
        self._usages[ref] = Usage(
            key=self._key(ref), ref=ref, kind="experience", added=added, retrieved=tally.retrieved,
            utilities=tally.utilities, prior=experience.judgement.utility,
            order=int(ref.rpartition(".")[2]),
        )  # fmt: skip
        self._rows.add(ref, self.retrieval.vector(experience.task))

    def _key(self, ref: str) -> str:
        return f"{self.shelf.space.key}:{ref}"


P = ParamSpec("P")
T = TypeVar("T")


class AsyncExperienceMemory:
    """The asynchronous `ExperienceMemory`, for several tasks of one loop; operations run in turn.

    An evaluator may be asynchronous; it is awaited while other tasks continue. No one else may use
    ``memory`` meanwhile; `open` creates one.
    """

    def __init__(self, memory: ExperienceMemory) -> None:
        self.memory = memory
        self._turn = asyncio.Lock()

    @classmethod
    async def open(
        cls, store: ArtifactStore, space: Thread, now: Callable[[], str], **given: Any
    ) -> Self:
        """Create an `ExperienceMemory`, which reads the store, without blocking the event loop."""
        return cls(await asyncio.to_thread(ExperienceMemory, store, space, now, **given))

    def __len__(self) -> int:
        return len(self.memory)

    async def retrieve(self, task: str) -> list[Demonstration]:
        """Like `ExperienceMemory.retrieve`."""
        return await self._one(self.memory.retrieve, task)

    async def finish(
        self,
        task: str,
        execution: str,
        shown: Sequence[Demonstration] = (),
        *,
        utility: float | None = None,
    ) -> Finished:
        """Like `ExperienceMemory.finish`."""
        self.memory.check(task, utility)
        task, execution = self.memory.storable_text(task), self.memory.storable_text(execution)
        judgement = await self.memory.addition.ajudge(task, execution)
        return await self._one(self.memory.take, task, execution, shown, judgement, utility)

    async def seed(self, task: str, execution: str, judgement: Judgement | None = None) -> str:
        """Like `ExperienceMemory.seed`."""
        return await self._one(self.memory.seed, task, execution, judgement)

    async def feedback(self, ref: str, utility: float) -> None:
        """Like `ExperienceMemory.feedback`."""
        await self._one(self.memory.feedback, ref, utility)

    def experiences(self) -> list[Experience]:
        """Like `ExperienceMemory.experiences`."""
        return self.memory.experiences()

    def usages(self) -> list[Usage]:
        """Like `ExperienceMemory.usages`."""
        return self.memory.usages()

    @property
    def similarities(self) -> list[tuple[float, float]]:
        """Like `ExperienceMemory.similarities`."""
        return self.memory.similarities

    @property
    def t(self) -> int:
        """Like `ExperienceMemory.t`."""
        return self.memory.t

    async def _one(self, act: Callable[P, T], /, *arguments: P.args, **named: P.kwargs) -> T:
        """Return the result of ``act``, which completes even if the calling task is cancelled."""
        async with self._turn:
            work = asyncio.ensure_future(asyncio.to_thread(act, *arguments, **named))
            try:
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                await asyncio.wait([work])
                raise
