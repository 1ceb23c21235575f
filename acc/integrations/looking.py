"""What a pass finds: whose memory it is, what no commit has taken, and the state to go on from."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from acc.controller.acts import withdraw
from acc.driving import Doing, Io
from acc.errors import StateError
from acc.integrations.channel_update import ChannelValues, Looked
from acc.integrations.graph_channels import read
from acc.integrations.history import (
    Recovered,
    is_running_summary,
    may_sum_up,
    recovered,
    results_left,
    taken_back,
)
from acc.integrations.identity import enclosing_nodes, owner, saver_of
from acc.integrations.messages import as_messages, as_summary, blocked_in, healed, role_and_rest
from acc.integrations.notes import NONE, Notes
from acc.integrations.resuming import Begun
from acc.integrations.speaking import Speaking
from acc.integrations.tailing import (
    MANY,
    absent,
    is_said,
    missing,
    places,
    repeated,
    sent_again,
    taken_after,
    unknown,
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

    def _of(self, state: Any, config: RunnableConfig) -> ChannelValues:
        """Return what a run's channels hold of its own, and whose memory it works on."""
        messages = read(state, self.input_messages_key) or ()
        raw, noted = read(state, self.state_key), Notes.load(read(state, self.run_key), self.key)
        whose = owner(config, self.identity, noted.thread, as_messages(messages))
        if noted.is_foreign:
            whose = whose._replace(is_own=not enclosing_nodes(config))
        if not whose.is_own:
            return ChannelValues(whose, messages, None, Notes(key=self.key), config, raw)
        if isinstance(raw, Mapping) and not raw:
            raise StateError(
                "the state was taken out of its channel",
                where=f"thread {whose.thread.thread!r}",
                hint="restore the state as it was committed, or begin a new thread",
            )
        return ChannelValues(whose, messages, raw or None, noted, config)

    def _loaded(self, raw: Any) -> State | None:
        found: State | None = self.controller.loaded(raw) if raw else None
        return found

    def _looking(self, given: ChannelValues, *, is_entry: bool = False) -> Doing[Looked]:
        """Find what a pass finds, after the state has let go of what was blocked or taken back."""
        while True:
            looked: Looked = yield Io(partial(self._look, given, is_entry))
            if not looked.gone or looked.state is None:
                return looked
            thread, branch = looked.thread, looked.state.branch
            for reason, refs in looked.gone.items():
                parts = self.controller.parts
                yield Io(partial(withdraw, parts, refs, reason, thread, branch))
                log_event(
                    _LOG, logging.WARNING, "withdrawn",
                    f"nothing in the state rests on {len(refs)} messages any more: {reason}",
                    thread=thread.thread,
                )  # fmt: skip

    def _look(self, given: ChannelValues, is_entry: bool) -> Looked:
        """Return what a pass finds; at a run's entry who speaks is enough, once the thread has a state."""
        role, rest = role_and_rest(as_messages(given.messages))
        added: list[BaseMessage] = []
        is_moving_over = given.notes.is_new and not self.is_shadow
        if role and is_moving_over and is_running_summary(given.config, role[0]):
            role, added = [], [as_summary(role[0])]
        results = [] if given.is_same_run else as_messages(results_left(rest, given.config))
        rest = [*added, *rest, *results]
        state = self._loaded(given.raw)
        with self.controller.journal.snapshot() as journal:
            past = self._recovered(journal, given, state, [*role, *rest])
            whole = [*past.messages, *rest]
            notes = self._noted(journal, given, whole)
            added += results
            looked = Looked(given.whose.thread, state, given, rest, notes, added, role)
            if is_entry and state is not None:
                return looked
            return self._compared(journal, looked, whole, past.told)

    def _compared(
        self, journal: Journal, looked: Looked, whole: Sequence[BaseMessage], told: Collection[str]
    ) -> Looked:
        """Return what is found with what is new to the journal, or with what the state has to let go of first.

        ``whole``: the messages, with those that another summariser removed; ``told``: the ids of those whose words the
        memory has taken otherwise.
        """
        notes, config = looked.notes, looked.given.config
        reads = self.voices.read(healed(whole, is_read=True), notes.of)
        notes = notes.noting(taken={read.id: read.words for read in reads if read.id in told})
        begun = self.resuming.begun(journal, looked.thread, looked.state, reads, config)
        thread = begun.head.thread
        looked = replace(looked, thread=thread, state=begun.state, reads=reads)
        if gone := self._gone(journal, looked):
            return replace(looked, gone=gone)
        new = self._new(journal, reads, begun, looked.given, notes)
        pairs = [(r.id, d) for r in new for d in r.digests] if begun.head.hash else []
        buried = journal.erased(thread, pairs)
        erased = frozenset(name for name, _ in buried)
        new = [read for read in new if read.id not in erased]
        new, notes = self._repeated(journal, reads, new, begun, replace(notes, thread=thread))
        if begun.state is None and whole and whole[0].type == "ai":
            log_event(
                _LOG, logging.WARNING, "begun_in_the_middle",
                "a conversation begins with the agent's words: what came before is in no memory of this thread",
                thread=thread.thread,
            )  # fmt: skip
        return replace(looked, new=new, erased=erased, notes=notes)

    def _gone(self, journal: Journal, looked: Looked) -> dict[str, list[str]]:
        """Return the refs of the tail's messages that a guard blocked since, or that the application took out of the
        channel, by reason."""
        if (state := looked.state) is None:
            return {}
        noted = looked.given.notes.of
        messages = [read.message for read in looked.reads]
        ids = {name for name in blocked_in(messages) if noted.get(name, NONE).who != "written"}
        blocked = self.voices.read([m for m in messages if m.id in ids], noted)
        held = places(blocked, state.unread)
        found = {"blocked": [entry.ref for entries in held.values() for entry in entries]}
        there = Counter(digest for read in looked.reads for digest in read.digests)
        if Counter(entry.digest for entry in state.unread) - there:
            refs = absent(state.unread, places(looked.reads, state.unread))
            texts = journal.texts(looked.thread, refs, branch=state.branch)
            names = {message.observation.message for message in texts}
            back = taken_back(looked.given.config, self.input_messages_key, names)
            found["taken back"] = [m.ref for m in texts if m.observation.message in back]
        return {reason: refs for reason, refs in found.items() if refs}

    def _recovered(
        self,
        journal: Journal,
        given: ChannelValues,
        state: State | None,
        messages: Sequence[BaseMessage],
    ) -> Recovered:
        if not any(may_sum_up(message) for message in messages):
            return Recovered()
        thread, branch = given.whose.thread, state.branch if state is not None else "main"
        head = journal.head(thread, branch)

        def knows(ids: Collection[str]) -> Collection[str]:
            taken = journal.taken(thread, [*ids], head.seq, branch=branch)
            waiting = journal.waiting(thread, branch)
            known = {*(i for i, _ in taken), *(m.observation.message for m in waiting)}
            return known | {name for name, note in given.notes.of.items() if note.taken}

        return recovered(
            given.config, messages, self.input_messages_key, knows if head.hash else None
        )

    def _new(
        self,
        journal: Journal,
        reads: Sequence[Read],
        begun: Begun,
        given: ChannelValues,
        notes: Notes,
    ) -> Sequence[Read]:
        """Return the messages that no commit up to the head has taken."""
        head, key = begun.head, self.controller.policy.digest_key
        if not head.hash:
            return unknown(reads, ())
        ids = [read.id for read in reads]
        taken = set(journal.taken(head.thread, ids, head.seq, branch=head.branch))
        taken |= {(name, d) for name, note in notes.of.items() for d in note.taken.split()}
        new = unknown(reads, taken)
        is_stateless = saver_of(given.config) is None and len(new) > 1
        if is_stateless or sum(map(is_said, new)) >= MANY:
            waiting = journal.waiting(head.thread, head.branch) if is_stateless else ()
            past = [(m.message.observation, m.digest) for m in taken_after(journal, head, 0)]
            past += [(m.observation, digest_of(m.observation, key)) for m in waiting]
            noted = {name: note for name, note in notes.of.items() if note.who != "written"}
            whole = [read.message for read in (reads if is_stateless else new)]
            again = sent_again(self.voices.read(whole, noted), past)
            new = tuple(read for read in new if read.id not in again)
        return new

    def _repeated(
        self,
        journal: Journal,
        reads: Sequence[Read],
        new: Sequence[Read],
        begun: Begun,
        notes: Notes,
    ) -> tuple[Sequence[Read], Notes]:
        """Take out of ``new`` what a killed run has said already, and note it.

        Its input was sent again, or its messages got new ids as the run was resumed.
        """
        if not new or not (notes.again or begun.since is not None):
            return new, notes
        first, end = notes.again or (begun.since or 0, begun.head.seq)
        since = [m for m in missing(journal, begun.head, first, reads) if m.seq <= end]
        found, place = repeated(new, since)
        left = [read for read in new if read.id not in found]
        again = (place, end) if found and not left and place < end else ()
        return left, replace(notes.noting(taken=found), again=again)
