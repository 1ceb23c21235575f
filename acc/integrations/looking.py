"""What a pass finds: whose memory it is, what no commit has taken, and the state to go on from."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from acc.controller.acts import withdraw
from acc.errors import StateError
from acc.integrations.channel_update import ChannelValues, Looked
from acc.integrations.graph_channels import read
from acc.integrations.history import is_running_summary, results_left, taken_back
from acc.integrations.identity import Config, Owner, enclosing_nodes, owner, saver_of
from acc.integrations.messages import as_messages, as_summary, blocked_in, healed, role_and_rest
from acc.integrations.notes import Notes
from acc.integrations.prompting import Shown
from acc.integrations.recovering import Recovered, may_sum_up, recovered
from acc.integrations.resuming import Begun
from acc.integrations.speaking import Speaking
from acc.integrations.tailing import (
    MANY,
    Past,
    is_said,
    places,
    repeated,
    sent_again,
    unknown,
    without_answers,
)
from acc.integrations.voices import Read
from acc.journal import Journal
from acc.logs import log_event
from acc.state.model import CompressedCognitiveState
from acc.state.tail import digest_of

State = CompressedCognitiveState


_LOG = logging.getLogger(__name__)


class Looking(Speaking):
    """Looks at a graph's channels, and changes nothing but what a guard blocked."""

    def _of(self, state: Any, config: RunnableConfig) -> tuple[ChannelValues, Owner]:
        """Return what a run's channels hold of its own, and whose memory it works on."""
        messages = read(state, self.input_messages_key) or ()
        raw, notes = read(state, self.state_key), read(state, self.run_key)
        return self._given(messages, raw, notes, config)

    def _given(
        self, messages: Sequence[Any], raw: Any, notes: Any, config: RunnableConfig
    ) -> tuple[ChannelValues, Owner]:
        """Return what a run's channels hold of its own, and whose memory it works on."""
        noted = Notes.load(notes, self.key)
        whose = owner(config, self.identity, noted.thread, as_messages(messages))
        if noted.is_foreign:
            whose = whose._replace(is_own=not enclosing_nodes(config))
        if whose.is_own:
            if isinstance(raw, Mapping) and not raw:
                raise StateError(
                    "the state was taken out of its channel",
                    where=f"thread {whose.thread.thread!r}",
                    hint="restore the state as it was committed, or begin a new thread",
                )
            return ChannelValues(messages, raw or None, noted, config), whose
        return ChannelValues(messages, None, Notes(key=self.key), config, raw), whose

    def _loaded(self, raw: Any) -> State | None:
        """Return the validated state of a channel; None if there is none.

        Raises:
            StateError: The value is not a state, or it was edited.
        """
        found: State | None = self.controller.loaded(raw) if raw else None
        return found

    def _look(
        self, given: ChannelValues, whose: Owner, is_same_run: bool, *, is_entry: bool = False
    ) -> Looked:
        """Return what a pass finds; at a run's entry who speaks is enough, once the thread has a state."""
        with self.controller.journal.snapshot() as journal:
            looked, gone = self._found(journal, given, whose, is_same_run, is_entry)
        if not gone:
            return looked
        for reason, refs in gone.items():
            self._withdraw(looked, reason, refs)
        return self._look(given, whose, is_same_run, is_entry=is_entry)

    def _found(
        self,
        journal: Journal,
        given: ChannelValues,
        whose: Owner,
        is_same_run: bool,
        is_entry: bool,
    ) -> tuple[Looked, Mapping[str, list[str]]]:
        """Return what a pass finds, and what the state has to let go of first: refs by reason."""
        role, rest = role_and_rest(as_messages(given.messages))
        if role and self._is_summary(role[0], given):
            role, rest = [], [as_summary(role[0]), *rest]
        added = [] if is_same_run else as_messages(results_left(rest, given.config))
        rest += added
        state = self._loaded(given.raw)
        past = self._recovered(journal, given, whose, state, [*role, *rest])
        whole = [*past.messages, *rest]
        notes = self._noted(journal, given, whose, whole, is_same_run=is_same_run)
        looked = Looked(
            whose.thread, state, given, role, rest, [], (), frozenset(), notes, tuple(added)
        )
        if is_entry and state is not None:
            return looked, {}
        reads = self.voices.read(healed(whole, is_read=True), notes.voiced)
        told = {read.id: " ".join(read.digests) for read in reads if read.id in past.told}
        notes = replace(notes, taken={**notes.taken, **told})
        begun = self.resuming.begun(journal, whose.thread, state, reads, given.config)
        looked = replace(looked, thread=begun.thread, state=begun.state, reads=reads)
        if gone := self._gone(journal, looked):
            return looked, gone
        new, erased = self._new(journal, reads, begun, notes, given.config)
        notes = replace(notes, thread=begun.thread)
        new, notes = self._repeated(journal, reads, new, begun, notes)
        if begun.state is None and whole and whole[0].type == "ai":
            log_event(
                _LOG, logging.WARNING, "begun_in_the_middle",
                "a conversation begins with the agent's words: what came before is in no memory of this thread",
                thread=begun.thread.thread,
            )  # fmt: skip
        return replace(looked, new=new, erased=erased, notes=notes), {}

    def _gone(self, journal: Journal, looked: Looked) -> dict[str, list[str]]:
        """Return the refs of the tail's messages that a guard blocked since, or that the application took out of the
        channel, by reason."""
        if (state := looked.state) is None:
            return {}
        messages, given = [read.message for read in looked.reads], looked.given
        ids = blocked_in(messages).difference(given.notes.written)
        blocked = self.voices.read([m for m in messages if m.id in ids], given.notes.voiced)
        held = places(blocked, state.unread)
        found = {"blocked": [entry.ref for entries in held.values() for entry in entries]}
        there = Counter(digest for read in looked.reads for digest in read.digests)
        if Counter(entry.digest for entry in state.unread) - there:
            shown = Shown(looked.reads, places(looked.reads, state.unread), {}, state.unread)
            refs = [entry.ref for entry in shown.missing]
            texts = journal.texts(looked.thread, refs, branch=state.branch)
            names = {message.observation.message for message in texts}
            back = taken_back(given.config, self.input_messages_key, names)
            found["taken back"] = [m.ref for m in texts if m.observation.message in back]
        return {reason: refs for reason, refs in found.items() if refs}

    def _withdraw(self, looked: Looked, reason: str, refs: list[str]) -> None:
        branch = looked.state.branch if looked.state is not None else "main"
        withdraw(self.controller.parts, refs, reason, looked.thread, branch)
        log_event(
            _LOG, logging.WARNING, "withdrawn",
            f"nothing in the state rests on {len(refs)} messages any more: {reason}",
            thread=looked.thread.thread,
        )  # fmt: skip

    def _is_summary(self, role: BaseMessage, given: ChannelValues) -> bool:
        """Whether what stands in the place of the role is another summariser's summary, as the thread moves over."""
        return given.notes.is_new and not self.is_shadow and is_running_summary(given.config, role)

    def _recovered(
        self,
        journal: Journal,
        given: ChannelValues,
        whose: Owner,
        state: State | None,
        messages: Sequence[BaseMessage],
    ) -> Recovered:
        """Return what another summariser removed and this memory has not taken."""
        if not any(may_sum_up(message) for message in messages):
            return Recovered()
        branch = state.branch if state is not None else "main"
        head = journal.head(whose.thread, branch)

        def knows(ids: Collection[str]) -> Collection[str]:
            taken = journal.taken(whose.thread, [*ids], head.seq, branch=branch)
            waiting = journal.waiting(whose.thread, branch)
            known = {*(i for i, _ in taken), *(m.observation.message for m in waiting)}
            return known | given.notes.taken.keys()

        return recovered(
            given.config, messages, self.input_messages_key, knows if head.hash else None
        )

    def _new(
        self,
        journal: Journal,
        reads: Sequence[Read],
        begun: Begun,
        notes: Notes,
        config: Config,
    ) -> tuple[tuple[Read, ...], frozenset[str]]:
        """Return the messages that no commit up to ``head`` has taken, and the ids of erased ones."""
        thread, head = begun.thread, begun.head
        if not head.hash:
            return unknown(reads, Past(())), frozenset()
        ids = [read.id for read in reads]
        pairs = journal.taken(thread, ids, head.seq, branch=head.branch)
        new = unknown(reads, Past(pairs, notes.taken))
        if sum(map(is_said, new)) >= MANY:
            key = self.controller.policy.digest_key
            whole = [
                (m, digest_of(m.observation, key)) for m in self._past(journal, thread, head, 0)
            ]
            as_said = notes.voiced._replace(written=())
            again = sent_again(self.voices.read([r.message for r in new], as_said), whole)
            new = tuple(read for read in new if read.id not in again)
        if saver_of(config) is None and len(new) > 1:
            waiting = journal.waiting(thread, head.branch)
            new = without_answers(new, reads, [*self._past(journal, thread, head, 0), *waiting])
        gone = journal.erased(thread, [(r.id, d) for r in new for d in r.digests])
        erased = frozenset(r.id for r in new if any((r.id, d) in gone for d in r.digests))
        return tuple(read for read in new if read.id not in erased), erased

    def _repeated(
        self,
        journal: Journal,
        reads: Sequence[Read],
        new: tuple[Read, ...],
        begun: Begun,
        notes: Notes,
    ) -> tuple[tuple[Read, ...], Notes]:
        """Take out of ``new`` what a killed run has said already, and note it.

        Its input was sent again, or its messages got new ids as the run was resumed.
        """
        if not new or not (notes.again or begun.since is not None):
            return new, notes
        first, end = notes.again or (begun.since or 0, begun.head.seq)
        key = self.controller.policy.digest_key
        there = {(read.id, digest) for read in reads for digest in read.digests}
        since = [
            (each.seq, each.message, digest)
            for each in journal.messages(begun.thread, first + 1, branch=begun.head.branch)
            if each.seq <= end
            and (digest := digest_of(each.message.observation, key))
            and (each.message.observation.message, digest) not in there
        ]
        found, place = repeated(new, since)
        left = tuple(read for read in new if read.id not in found)
        again = (place, end) if found and not left and place < end else ()
        return left, replace(notes, taken={**notes.taken, **found}, again=again)
