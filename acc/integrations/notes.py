"""What the memory notes of a run beside its state: who wrote the human messages, and which agent it is.

The notes are small plain JSON in a private channel of the graph. Ids of messages that left the channel leave the notes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from typing import Any, Self

from acc.errors import StateError
from acc.integrations.messages import Voiced
from acc.journal import ThreadKey

_IDS = ("users", "tasks", "written")


@dataclass(frozen=True)
class Notes:
    """The notes of a run.

    Attributes:
        thread: The thread of the run's memory.
        users: Ids of human messages that are known to be the user's.
        tasks: Ids of tasks that another agent wrote.
        written: Ids of human messages that are nobody's words to the agent (`acc.integrations.messages.WRITTEN`).
        speakers: Speakers by message id, where the run named another user than the thread's.
        taken: Digests by message id of what stays in the channel for the step at hand, and stands in the state, not in
            its tail; and of what repeats stored words under another id.
        again: While a run repeats what a killed one said: the place up to which it did, and the place where that
            ends (`acc.journal.Head.seq`). Empty otherwise.
        question: Id of the human message for which evidence was admitted; empty if none was.
        admitted: Ref and passage of each piece of it (`acc.gate.Verdict`). The words are read from the journal.
        is_new: Whether no run has left notes yet.
    """

    thread: ThreadKey | None = None
    users: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    speakers: Mapping[str, str] = field(default_factory=dict)
    taken: Mapping[str, str] = field(default_factory=dict)
    again: tuple[int, ...] = ()
    question: str = ""
    admitted: tuple[tuple[str, int], ...] = ()
    is_new: bool = True

    @classmethod
    def load(cls, raw: Any) -> Self:
        """Load what `dump` made; None and an empty mapping make new notes.

        Raises:
            StateError: ``raw`` has another form.
        """
        if not raw:
            return cls()
        try:
            ids = {name: tuple(map(str, raw.get(name, ()))) for name in _IDS}
            speakers = {str(k): str(v) for k, v in dict(raw.get("speakers", {})).items()}
            taken = {str(k): str(v) for k, v in dict(raw.get("taken", {})).items()}
            named = raw.get("thread")
            thread = ThreadKey(*map(str, named)) if named else None
            again = tuple(map(int, raw.get("again", ())))
            admitted = tuple((str(ref), int(place)) for ref, place in raw.get("admitted", ()))
            return cls(
                thread, **ids, speakers=speakers, taken=taken, again=again, is_new=False,
                question=str(raw.get("question", "")), admitted=admitted,
            )  # fmt: skip
        except (AttributeError, TypeError, ValueError) as error:
            raise StateError(
                "the memory's notes in the checkpoint are damaged",
                where=type(raw).__name__,
                hint="leave the channel as the memory wrote it",
            ) from error

    def dump(self) -> dict[str, Any]:
        """Return plain JSON values; empty fields are left out."""
        noted: dict[str, Any] = {name: list(getattr(self, name)) for name in _IDS}
        noted["thread"] = list(astuple(self.thread)) if self.thread else []
        noted["speakers"] = dict(self.speakers)
        noted["taken"] = dict(self.taken)
        noted["again"] = list(self.again)
        noted |= {"question": self.question, "admitted": [list(each) for each in self.admitted]}
        return {name: value for name, value in noted.items() if value}

    def within(self, ids: Collection[str]) -> Self:
        """Return the notes of the messages with these ids alone."""
        return replace(
            self,
            users=_those(self.users, ids),
            tasks=_those(self.tasks, ids),
            written=_those(self.written, ids),
            speakers={k: v for k, v in self.speakers.items() if k in ids},
            taken={k: v for k, v in self.taken.items() if k in ids},
            question=self.question if self.question in ids else "",
            admitted=self.admitted if self.question in ids else (),
        )

    def and_these(
        self,
        *,
        users: Collection[str] = (),
        tasks: Collection[str] = (),
        written: Collection[str] = (),
        speakers: Mapping[str, str] | None = None,
    ) -> Self:
        """Return the notes with more of them."""
        return replace(
            self,
            users=tuple(dict.fromkeys((*self.users, *users))),
            tasks=tuple(dict.fromkeys((*self.tasks, *tasks))),
            written=tuple(dict.fromkeys((*self.written, *written))),
            speakers={**(speakers or {}), **self.speakers},
        )

    @property
    def heard(self) -> frozenset[str]:
        """Ids of the human messages whose writer is known."""
        return frozenset((*self.users, *self.tasks, *self.written))

    @property
    def voiced(self) -> Voiced:
        """Who wrote the human messages."""
        return Voiced(frozenset(self.tasks), frozenset(self.written), self.speakers)


def _those(noted: Sequence[str], ids: Collection[str]) -> tuple[str, ...]:
    return tuple(each for each in noted if each in ids)
