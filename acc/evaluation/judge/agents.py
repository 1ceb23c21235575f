"""An agent under test: a model with a memory of its own, which nothing else writes to."""

from __future__ import annotations

from collections.abc import Sequence

from acc.compressors.endpoint import Ask, Endpoint, Message
from acc.evaluation.asking import TEXT_SCHEMA, Patience, asked, text_in
from acc.evaluation.judge.logged_endpoint import LoggedEndpoint
from acc.evaluation.judge.prompts import AGENT, cut, instruction, material
from acc.evaluation.memories.protocol import EvaluatedMemory
from acc.evaluation.scenarios import ToolOutput
from acc.tokens import TokenCounter, guarded
from acc.transcript import completed_turns

REPLY_CHARS = 2_000
"""Characters of its own last reply that an agent reads again."""

NO_ANSWER = "(no answer)"
"""Stands for an answer that the model refused or left empty."""


class Agent:
    """Answers turn by turn.

    Attributes:
        label: The memory's.
        memory: The memory.
    """

    def __init__(
        self,
        label: str,
        memory: EvaluatedMemory,
        model: Endpoint,
        compressor: LoggedEndpoint,
        role: str,
        *,
        patience: Patience,
        counter: TokenCounter,
        output_tokens: int,
    ) -> None:
        self.label = label
        self.memory = memory
        self._model = model
        self._compressor = compressor
        self._role = role
        self._patience = patience
        self._counter = guarded(counter)
        self._output_tokens = output_tokens
        self._before: list[dict[str, str]] = []
        self._reply = ""

    def answer(self, query: str, tools: str) -> tuple[str, int]:
        """Its answer, and M_t: the tokens of what it read of its memory.

        Raises:
            EvaluationError: The model does not answer, or the budget is reached.
        """
        reading = self.memory.read(query)
        self._settle()
        shown = material(
            ("memory", reading.text),
            ("your last reply", cut(self._reply, REPLY_CHARS)),
            ("tool outputs of this turn", tools),
            ("the user's message", query),
        )
        stable = instruction(AGENT, role=self._role)
        messages = (Message("system", stable), Message("user", shown))
        reply = asked(self._model, Ask(messages, TEXT_SCHEMA, self._output_tokens), self._patience)
        return text_in(reply) or NO_ANSWER, self._counter(reading.text)

    def observe(self, query: str, outputs: Sequence[ToolOutput], answer: str) -> None:
        """Take in the completed turn.

        Raises:
            BudgetReached: The compressor could not be asked.
        """
        messages = [{"role": "user", "content": query}]
        messages += [{"role": "tool", "name": o.tool, "content": o.content} for o in outputs]
        messages.append({"role": "assistant", "content": answer})
        turn = list(completed_turns([*self._before, *messages], channels={}))[-1]
        self.memory.observe(turn)
        self._settle()
        self._before, self._reply = messages, answer

    def _settle(self) -> None:
        """The memory has survived what its compressor met; but without a budget nothing goes on."""
        if self._compressor.stopped is not None:
            raise self._compressor.stopped
        self._compressor.confirm()


def shown_tools(outputs: Sequence[ToolOutput]) -> str:
    """Tool outputs as agents and judge read them."""
    return "\n\n".join(f"[{output.tool}]\n{output.content}" for output in outputs)
