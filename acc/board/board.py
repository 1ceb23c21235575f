"""What a board is: a thread's name, a policy, and which slots of an agent's schema it shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from acc.errors import ConfigurationError
from acc.state.items import Constraint, Relation, Uncertainty
from acc.state.model import CompressedCognitiveState
from acc.state.policy import Policy
from acc.state.slots import Slot, SlotField
from acc.stores.copies import BOARD
from acc.stores.protocol import Thread
from acc.turn.observations import Trust

HEADING = "Shared with all agents:"
OWN_HEADING = "Your own:"


class BoardState(CompressedCognitiveState):
    """The state of a board: rules and goals, and what all agents have to know. Nothing fills its other slots."""

    max_tokens: ClassVar[int] = 600

    decisions: Annotated[
        tuple[Relation, ...],
        Slot(
            max_items=16,
            min_trust=Trust.AGENT,
            eviction_priority=55,
            id_prefix="z",
            guidance="decisions, assignments and results that every other agent has to know; "
            "one subject and predicate each",
        ),
    ] = ()
    open_questions: Annotated[
        tuple[Uncertainty, ...],
        Slot(
            max_items=6,
            min_trust=Trust.AGENT,
            eviction_priority=35,
            id_prefix="b",
            guidance="questions that another agent may answer",
        ),
    ] = ()


class MeasuredBoardState(BoardState):
    """A board with a slot for what tools measured. What stands there is as trusted as the tool, not the agent.

    It is a class of its own: a policy's fingerprint covers the slots, and boards with `BoardState` go on.
    """

    max_tokens: ClassVar[int] = 800

    measurements: Annotated[
        tuple[Relation, ...],
        Slot(
            max_items=12,
            min_trust=Trust.TOOL,
            eviction_priority=45,
            id_prefix="m",
            guidance="what a tool measured or found that every other agent has to know, citing the tool's "
            "result alone; one subject and predicate each",
        ),
    ] = ()


Share = Literal["all", "rules"]


def ref_prefix(key: str) -> str:
    """Return what stands before the refs of the board whose thread has ``key``, where an agent reads them."""
    return f"{key[:8]}/"


@dataclass(frozen=True)
class Board:
    """A board that agents share. A plain value: equal boards are the same board.

    Attributes:
        name: The name of the board's thread.
        share: Which slots are shared. "all": the pinned slots (rules and goals) that the agent's schema and the
            board's both have, and the board's own slots, which the agent's schema lacks. "rules": slots of
            rules (`acc.state.items.Constraint`) alone. Or names of board slots by names of the agent's slots.
        policy: The board's schema and bounds. The schema is any state class; `BoardState` by default.
        user: The user whom the board belongs to; empty for the user of the agent's thread.

    Raises:
        ConfigurationError: The name is empty, or ``share`` is none of these.
    """

    name: str
    share: Share | Mapping[str, str] | tuple[tuple[str, str], ...] = "all"
    policy: Policy = field(default_factory=lambda: Policy(schema=BoardState))
    user: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise ConfigurationError(
                f"the board's name is {self.name!r}", where="Board", hint="give it a name"
            )
        if isinstance(self.share, Mapping):
            object.__setattr__(self, "share", tuple(sorted(self.share.items())))
        if self.share not in ("all", "rules") and not isinstance(self.share, tuple):
            raise ConfigurationError(
                f"share is {self.share!r}",
                where=f"Board {self.name!r}",
                hint='give "all", "rules", or {slot of the agent: slot of the board}',
            )

    def thread_of(self, thread: Thread) -> Thread:
        """Return the board's own thread, as seen from an agent's thread: of the same tenant.

        Raises:
            ConfigurationError: ``thread`` is the board's own.
        """
        own = Thread(
            thread=self.name, agent=BOARD, user=self.user or thread.user, tenant=thread.tenant
        )
        if own == thread:
            raise ConfigurationError(
                "an agent cannot have the board's own thread",
                where=f"board {self.name!r}",
                hint=f"give the agent's thread another agent than {BOARD!r}",
            )
        return own

    def shared(self, schema: type[CompressedCognitiveState]) -> dict[str, str]:
        """Return the board's slots by the slots of an agent's ``schema`` whose items live on the board.

        Raises:
            ConfigurationError: ``share`` names a slot that does not exist, or the types of two slots differ.
        """
        own, theirs = schema.slots(), self.policy.schema.slots()
        if isinstance(self.share, tuple):
            found = dict(self.share)
        else:
            found = {name: name for name, slot in own.items() if self._is_shared(slot)}
        for mine, shared in found.items():
            if mine not in own or shared not in theirs:
                missing = f"{schema.__name__}.{mine}" if mine not in own else f"slot {shared!r}"
                raise self._refused(f"there is no {missing}", "name slots of both schemas")
            if not issubclass(theirs[shared].item, own[mine].item):
                raise self._refused(
                    f"slot {mine!r} holds {own[mine].item.__name__}, and the board's slot {shared!r} "
                    f"{theirs[shared].item.__name__}",
                    f"give the board a schema with that type: Policy(schema={schema.__name__})",
                )
        return found

    def added(self, schema: type[CompressedCognitiveState]) -> tuple[str, ...]:
        """Return the board's slots that an agent's ``schema`` lacks, and that its compressor fills too."""
        base = {*schema.slots(), *CompressedCognitiveState.slots()}
        return (
            tuple(n for n in self.policy.schema.slots() if n not in base)
            if self.share == "all"
            else ()
        )

    def rendered(
        self,
        shared: CompressedCognitiveState,
        own: CompressedCognitiveState,
        policy: Policy | None = None,
    ) -> str:
        """Return what the agent reads: the board, then its own state.

        It has at most the tokens of both policies' bounds and of the two headings together.

        Args:
            shared: The board's state, such as ``step.board.state``.
            own: The agent's state.
            policy: The agent's policy; None for the defaults of its state's class.
        """
        return self.beside(shared, (policy or Policy(schema=type(own))).rendered(own))

    def beside(self, shared: CompressedCognitiveState, own: str) -> str:
        """Return the board's state as text, then the text ``own`` of an agent's; empty texts stay out."""
        parts = ((HEADING, self.text(shared)), (OWN_HEADING, own))
        return "\n".join(f"{heading}\n{text}" for heading, text in parts if text)

    def text(self, shared: CompressedCognitiveState) -> str:
        """Return the board's state as agents read it: its refs begin with the board's thread, as in ``53ce69b9/u1``.

        The board's bound holds: what was evicted first is left out if such refs take more room.
        """
        prefix = ref_prefix(shared.bound_to.partition(".")[2])
        gone = [
            each.model_copy(update={"ref": prefix + each.ref})
            for each in shared.evicted
            if each.shown
        ]
        while gone:
            named = shared.model_copy(update={"evicted": tuple(gone)})
            if self.policy.tokens(named) <= self.policy.max_tokens:
                return self.policy.rendered(named)
            gone.pop()
        return self.policy.rendered(shared.model_copy(update={"evicted": ()}))

    def own_ref(self, ref: str, thread: Thread) -> str:
        """Return the board's own ref that ``ref`` names to the agent of ``thread``; empty if it names none."""
        prefix = ref_prefix(self.thread_of(thread).key)
        return ref.removeprefix(prefix) if ref.startswith(prefix) else ""

    def _is_shared(self, slot: SlotField) -> bool:
        other = self.policy.schema.slots().get(slot.name)
        is_wanted = self.share == "all" or issubclass(slot.item, Constraint)
        return other is not None and slot.rules.pinned and other.rules.pinned and is_wanted

    def _refused(self, what: str, hint: str) -> ConfigurationError:
        return ConfigurationError(what, where=f"Board {self.name!r}", hint=hint)
