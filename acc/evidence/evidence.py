"""`Evidence`: what happens to a memory's evidence beside its steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from acc.errors import AccError, InputError
from acc.evidence.base import groups_of
from acc.evidence.erasure import Erasure, ErasurePlan, Receipt
from acc.evidence.files import Files
from acc.evidence.retention import Retention, admitted_in
from acc.evidence.target import Target
from acc.journal import Feedback, Hold, Journal, ThreadKey
from acc.journal.names import MAIN, Key, is_home, key_of

AROUND = 120
"""Characters that are shown on either side of the first word."""


@dataclass(frozen=True)
class Hit:
    """A message that holds all the words; ``text`` is the passage around the first."""

    thread: ThreadKey
    branch: str
    ref: str
    channel: str
    name: str
    at: str
    text: str


@dataclass(frozen=True)
class Lag:
    """How many messages of a branch wait: for the index, or for a commit."""

    thread: ThreadKey
    branch: str
    messages: int


@dataclass(frozen=True)
class Health:
    """How a memory is: how many rows it has, and how large it is.

    Attributes:
        sizes: Bytes of its files: ``journal``, ``log``, ``index``, ``other``.
        free_bytes: Bytes of the journal that are free.
        lag: What the index lacks.
        open: Turns that no commit took: recorded, or of a step that failed. The thread's next step takes them.
        problems: What is wrong: damaged pages, an index that cannot be used.
    """

    threads: int
    branches: int
    messages: int
    commits: int
    sizes: Mapping[str, int]
    free_bytes: int
    lag: tuple[Lag, ...]
    open: tuple[Lag, ...]
    problems: tuple[str, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing is wrong and nothing lags."""
        return not self.problems and not self.lag


@dataclass(frozen=True)
class Reindexed:
    """What was indexed anew: threads and messages."""

    threads: int
    messages: int


class Evidence(Files, Retention):
    """Erasure, holds, feedback, search and health of a memory; files and retention are its bases.

    It works while agents run. Its methods block; beside an event loop: ``await memory.beside(evidence.erase, target)``.

    Args:
        memory: The open memory.
        policies: Policies of threads that have another schema, as of roles. Boards need none.
    """

    def plan_erasure(self, target: Target) -> ErasurePlan:
        """Plan an erasure: what goes, and what the model costs that makes the rest anew. Nothing is erased.

        Args:
            target: What to erase. What agents and tools repeated of it goes, too. What is left is committed anew.

        Raises:
            InputError: The memory holds nothing of it, or a hold protects it.
            StateError: A commit of the thread is damaged.
        """
        return Erasure(self, target).plan()

    def erase(self, target: Target) -> Receipt:
        """Plan an erasure and carry it out; arguments and errors are those of `plan_erasure` and its ``apply``."""
        return self.plan_erasure(target).apply()

    def hold(self, thread: Key, ref: str = "", *, reason: str) -> Hold:
        """Protect a message, a document or a whole thread from deletion.

        Raises:
            InputError: There is no such message, or no reason.
            StateError: There is no such thread.
        """
        if not reason.strip():
            raise InputError("a hold needs a reason", where=ref, hint="say who asks, and why")
        key = key_of(thread)
        if ref and not self._has(key, ref):
            raise _missing(f"evidence {ref!r}", key)
        redact = self.memory.core.redact
        return self.journal.hold(key, ref, reason=redact(reason) if redact else reason)

    def _has(self, key: ThreadKey, ref: str) -> bool:
        groups = groups_of(self.journal, key) if is_home(key) else ()
        return bool(self.journal.texts(key, [ref])) or any(ref == group.ref for group in groups)

    def release(self, thread: Key, ref: str = "") -> None:
        """End a hold.

        Raises:
            InputError: There is none.
        """
        self.journal.release(thread, ref)

    def held(self, **scope: str | None) -> tuple[Hold, ...]:
        """Return the holds of a scope."""
        keys = set(self.threads(**scope))
        return tuple(hold for hold in self.journal.held() if hold.thread in keys)

    def feedback(self, turn: int, utility: float, *, thread: Key, branch: str = MAIN) -> int:
        """Keep how useful the evidence was that a turn admitted; return for how many pieces of it this counts.

        Args:
            turn: The turn's number.
            utility: Any finite number; higher is better.
            thread: The thread.
            branch: Its branch.

        Raises:
            InputError: There is no such turn, or the utility is no finite number.
        """
        key = key_of(thread)
        if not math.isfinite(utility):
            what = f"a utility is a finite number, not {utility!r}"
            raise InputError(what, where="feedback", hint="such as 0 to 1")
        commits = (each for each in self.journal.commits(key, branch) if each.turn == turn)
        if not (found := [each for each in commits if each.span[1]]):
            raise _missing(f"turn {turn}", key)
        self.journal.rate(key, Feedback(branch, turn, float(utility)))
        return len({ref for each in found for ref in admitted_in(each.record)})

    def search(
        self, words: str, *, thread: Key | None = None, limit: int = 20, **scope: str | None
    ) -> tuple[Hit, ...]:
        """Return the newest messages and passages of documents that hold all the words, in any case.

        Raises:
            InputError: There are no words.
        """
        wanted = words.split()
        if not wanted:
            raise InputError("there are no words to search for", where="search", hint="name some")
        key = key_of(thread) if thread is not None else None
        names = {name: value for name, value in scope.items() if value is not None}
        return tuple(
            Hit(
                where, branch, message.ref, message.channel.value, message.observation.name,
                message.at, _passage(message.text, wanted[0]),
            )
            for where, branch, message in self.journal.holding(wanted, limit, key, names)
        )  # fmt: skip

    def health(self) -> Health:
        """Look at the memory: sizes, free pages, what the index lacks, turns that no commit took; writes nothing."""
        journal, index = self.journal, self.memory.index
        problems = [*index.warnings, *(f"journal: {each}" for each in journal.database.damages())]
        sizes, lag = journal.sizes(), list[Lag]()
        open_ = [Lag(*name, size.open) for name, size in sizes.items() if size.open]
        try:
            lag += [Lag(*name, lacks) for name, lacks in index.lacking(sizes)]
        except AccError as error:
            problems.append(f"index: {error}")
        return Health(
            len({thread for thread, _ in sizes}), len(sizes),
            sum(size.messages for size in sizes.values()), sum(size.commits for size in sizes.values()),
            _sizes(journal, self.files), journal.database.free_bytes(), tuple(lag), tuple(open_),
            tuple(dict.fromkeys(problems)),
        )  # fmt: skip

    def reindex(self) -> Reindexed:
        """Begin the index anew, and fill it from the journal.

        Raises:
            InputError: The memory has no index.
            StoreError: It cannot be used.
        """
        index = self.memory.index
        index.begin_anew()
        index.clean()
        heads = list(self.journal.heads())
        messages = sum(index.refill(head.thread, head.branch) for head in heads)
        return Reindexed(len({head.thread for head in heads}), messages)


def _sizes(journal: Journal, files: Iterable[Path]) -> dict[str, int]:
    names = {
        path.absolute(): "log" if path.name.endswith(("-wal", "-shm")) else "journal"
        for path in journal.database.files
    }
    found = dict.fromkeys(("journal", "log", "index", "other"), 0)
    if not names:  # a server has them
        found["journal"] = journal.database.size()
    for each in files:
        kind = names.get(each.absolute()) or ("index" if "chroma" in each.parts else "other")
        found[kind] += each.stat().st_size
    return found


def _missing(what: str, key: ThreadKey) -> InputError:
    hint = "acc show and acc search list what there is"
    return InputError(f"there is no {what}", where=str(key), hint=hint)


def _passage(text: str, word: str) -> str:
    at = max(0, text.casefold().find(word.casefold()))
    first, last = max(0, at - AROUND), at + len(word) + AROUND
    cut = " ".join(text[first:last].split())
    return f"{'[...] ' if first else ''}{cut}{' [...]' if last < len(text) else ''}"
