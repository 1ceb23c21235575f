"""Experiences as records: written in parts, those that are whole read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from acc.evidence.addition import Judgement
from acc.evidence.demonstrations import Experience, read_back, written
from acc.evidence.directory import Directory
from acc.evidence.shelf import Shelf
from acc.store import Artifact, ArtifactStore, Thread, split_text
from acc.turn import Channel


class ExperienceShelves:
    """The shelf of what is kept, and the one of what was refused.

    Args:
        store: Where they are.
        space: The namespace.
        now: Tells the time as records have it.
    """

    def __init__(self, store: ArtifactStore, space: Thread, now: Callable[[], str]) -> None:
        self.kept = Shelf(store, space, "experiences")
        self.refused = Shelf(store, space, "quarantine")
        self._now = now
        self._enrolled = False

    def put(self, task: str, execution: str, t: int, judgement: Judgement) -> str:
        """Keep an experience, or the refused one; its ref.

        Raises:
            StoreError: It cannot be written.
        """
        shelf, word = (self.kept, "exp") if judgement.admitted else (self.refused, "refused")
        if not self._enrolled:
            Directory(shelf.store).enrol(shelf.space, self._now())
            self._enrolled = True
        texts = split_text(written(task, execution, t))
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

    def read(self) -> Iterator[tuple[Experience, int]]:
        """What is kept, oldest first, and the time at which each came."""
        texts: dict[str, list[Artifact]] = {}
        for record in self.kept.records():
            texts.setdefault(record.ref, []).append(record)
        for parts in texts.values():
            if len(parts) == parts[0].parts:  # of one that is half written nothing was told yet
                yield read_back(parts)
