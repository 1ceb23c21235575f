"""Runs the study: every memory in every run, and what each run cost and scored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from acc.models.protocol import (
    ChatModel,
    Completion,
    Messages,
    PromptMessage,
    Schema,
)
from acc_eval.asking import TEXT_SCHEMA, asked, text_in
from acc_eval.judge_calls import Budget, CallLog, LoggedModel, Place, Spending

from .judging import RUBRIC, Scores, score
from .memories import Broadcast, Context, Memory, Nothing, RoleMemories, Window, memory_bound
from .protocol import Said, converse
from .rule_agents import Luck, RuleModel
from .team import AGENTS, TASK, system_prompt, user_prompt

MEMORIES = ("nothing", "window", "broadcast", "roles")
"""What is compared by default."""

HEARING = "roles-hearing"
"""Role memories that are updated from every turn, whoever speaks: eight updates a turn."""

BOUNDED = ("window", "roles", HEARING)
"""Memories that the number of tokens to read decides."""


class Condition(NamedTuple):
    """A memory, and the tokens that an agent may read with it; 0 without a limit."""

    memory: str
    context: int = 0

    @property
    def label(self) -> str:
        """For tables and logs."""
        return f"{self.memory} {self.context:,}" if self.context else self.memory


ANSWER_TOKENS = 1_600
"""Limit of one agent's turn."""

NO_ANSWER = "(no answer)"
"""Replaces a turn that the model refused or left empty."""


@dataclass(frozen=True)
class Plan:
    """The setup of a study.

    Attributes:
        runs: Number of runs of each memory.
        contexts: Tokens that an agent reads beside its instructions in a bounded memory; one condition each.
        memory: Tokens of one role's memory.
        turns: Maximum number of turns of a conversation, with the document.
        model: The agents' model; None for the rule agents.
        judge: The judge's model; None for the rule judge.
        compressor: The model that updates the role memories; None for the keyless rules.
        memories: What is compared.
        talk: Sentences of talk around each statement of a rule agent.
        concurrency: Runs at the same time.
    """

    runs: int = 10
    contexts: Sequence[int] = (2_048,)
    memory: int = 800
    turns: int = 60
    model: ChatModel | None = None
    judge: ChatModel | None = None
    compressor: ChatModel | None = None
    memories: Sequence[str] = MEMORIES
    talk: int = 2
    concurrency: int = 1

    def configuration(self) -> dict[str, Any]:
        """All that determines the prompts."""
        asked = {"agent": self.model, "judge": self.judge, "compressor": self.compressor}
        models = {name: each.name if each else "by rule" for name, each in asked.items()}
        prompts = [*map(system_prompt, AGENTS.values()), TASK, RUBRIC]
        digest = hashlib.sha256("\n".join(prompts).encode()).hexdigest()[:16]
        sizes = {"memory": self.memory, "turns": self.turns, "talk": self.talk}
        return {"models": models, **sizes, "prompts": digest}

    @property
    def conditions(self) -> list[Condition]:
        """What is compared."""
        return [
            Condition(memory, context)
            for memory in self.memories
            for context in (self.contexts if memory in BOUNDED else (0,))
        ]


class Outcome(NamedTuple):
    """One run of one condition.

    Attributes:
        tokens: Input and output tokens of each agent's calls: whole prompts with instructions, and answers.
        memory_tokens: The same of the calls that update the memories.
        turns: Turns of the conversation, the document included.
        agreed: Whether the agents agreed before the turns were used up.
        scores: By metric; None if the judge gave no usable verdict.
        failures: Memory updates that failed.
        said: The whole conversation.
    """

    condition: Condition
    run: int
    tokens: Mapping[str, int]
    memory_tokens: int
    turns: int
    agreed: bool
    scores: Scores | None
    failures: int
    said: Sequence[Said]

    @property
    def document(self) -> str:
        """The design that was judged."""
        return self.said[-1].text

    @property
    def total(self) -> int:
        """All tokens but the judge's."""
        return sum(self.tokens.values()) + self.memory_tokens


def studied(plan: Plan, log: Path, told: Callable[[str], None] = lambda _: None) -> list[Outcome]:
    """Run the study; what ``log`` holds is not asked again.

    The runs are independent: each asks anew, with conversations, memories and luck of its own. Only the rule agents'
    luck depends on the run's number, so a run of one condition is paired with the same run of another.

    Raises:
        EvaluationError: A model does not answer, or the log is unusable.
        ConfigurationError: The log belongs to another study.
    """
    jobs = [(condition, run) for run in range(1, plan.runs + 1) for condition in plan.conditions]
    outcomes: list[Outcome] = []
    with CallLog(log, plan.configuration()) as calls:
        spending = Spending(Budget())
        with ThreadPoolExecutor(plan.concurrency, "pipeline-run") as pool:
            for outcome in pool.map(lambda job: _Run(plan, calls, spending, *job).played(), jobs):
                outcomes.append(outcome)
                told(f"{len(outcomes)} of {len(jobs)} runs")
    return outcomes


class Metered:
    """Counts the tokens of every call that is answered, whether this study or an earlier start of it paid for it.

    Attributes:
        model: The model that is asked.
        tokens: Input and output of whole calls, as the model reports them; estimated where it reports none.
    """

    def __init__(self, model: LoggedModel) -> None:
        self.model = model
        self.name = model.name
        self.tokens = 0

    def complete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Ask the model."""
        answer = self.model.complete(messages, schema, max_tokens=max_tokens)
        self.tokens += answer.usage.input + answer.usage.output
        return answer

    async def acomplete(
        self, messages: Messages, schema: Schema, *, max_tokens: int | None = None
    ) -> Completion:
        """Ask the model without blocking."""
        answer = await self.model.acomplete(messages, schema, max_tokens=max_tokens)
        self.tokens += answer.usage.input + answer.usage.output
        return answer


class _Run:
    """One run of one condition."""

    def __init__(
        self, plan: Plan, log: CallLog, spending: Spending, condition: Condition, run: int
    ) -> None:
        self._plan = plan
        self._log = log
        self._spending = spending
        self._condition = condition
        self._run = run
        self._place = f"{condition.label}/{run}"
        rule = RuleModel(Luck(run, plan.talk))
        self._agents = {role: self._logged(plan.model or rule, "agent", role) for role in AGENTS}
        self._judge = self._logged(plan.judge or rule, "judge")
        self._updater = self._logged(plan.compressor, "compressor") if plan.compressor else None

    def _logged(self, model: ChatModel, kind: str, role: str = "") -> Metered:
        place = Place(self._place, kind, role)
        return Metered(LoggedModel(model, self._log, self._spending, place))

    def played(self) -> Outcome:
        """Let the agents speak, and judge what they wrote."""
        with closing(self._memory()) as memory:
            talk = converse(TASK, memory, self._answer, self._plan.turns)
            failures = memory.failures
        self._settle()
        scores = score(self._judge, talk.document)
        tokens = {role: agent.tokens for role, agent in self._agents.items()}
        updates = self._updater.tokens if self._updater else 0
        return Outcome(
            self._condition, self._run, tokens, updates, len(talk.said), talk.agreed, scores,
            failures, talk.said,
        )  # fmt: skip

    def _memory(self) -> Memory:
        plan, (memory, context) = self._plan, self._condition
        if memory in ("roles", HEARING):
            templates = {code: agent.template for code, agent in AGENTS.items()}
            bound = memory_bound(TASK, context, plan.memory)
            hearing = memory == HEARING
            return RoleMemories(templates, context, bound, self._updater, hearing=hearing)
        if memory == "window":
            return Window(context)
        return Broadcast() if memory == "broadcast" else Nothing()

    def _answer(self, role: str, context: Context) -> str:
        self._settle()
        system, user = system_prompt(AGENTS[role]), user_prompt(context)
        messages = (PromptMessage("system", system), PromptMessage("user", user))
        said = asked(self._agents[role], messages, TEXT_SCHEMA, ANSWER_TOKENS).text
        return text_in(said) or NO_ANSWER

    def _settle(self) -> None:
        """Log the updates that failed: a study that goes on has to meet the same failures."""
        if self._updater is not None:
            self._updater.model.confirm()


def as_json(plan: Plan, outcomes: Sequence[Outcome], note: str) -> dict[str, Any]:
    """The whole result as plain JSON values."""
    runs = [
        {**outcome._asdict(), "condition": outcome.condition.label, "total": outcome.total}
        for outcome in outcomes
    ]
    noted = {"note": note} if note else {}
    return {**noted, "configuration": plan.configuration(), "runs": runs}
