"""What a planning agent's model is asked at each node, and what it answers with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.constants import TAG_NOSTREAM
from pydantic import BaseModel

from acc.errors import InputError
from acc.integrations.langgraph import MemoryNode

PLAN = "Plan: which steps come next, by what the state says?"
STEP = "Do this step with your tools, then say what came of it: "
REFLECT = "Reflect: does the state answer the user? Stop with the answer, continue, or revise."


class Plan(BaseModel):
    """The steps to take next, in order; each is one thing to find out or to do. Empty if none is."""

    steps: list[str]


class Reflection(BaseModel):
    """Whether to stop with an answer, go on with the next step, or plan anew.

    The answer is what the user reads if this is the end.
    """

    decision: Literal["stop", "continue", "revise"]
    answer: str


class Prompts:
    """Makes each node's prompt of the graph's state."""

    def __init__(self, memory: MemoryNode, role: str) -> None:
        """Read the state that ``memory`` commits, after ``role``."""
        self._prompt = memory.prompt(role)

    def plan(self, state: Mapping[str, Any]) -> list[BaseMessage]:
        """Role, state, the user's message, and which steps of this turn are done."""
        done = "; ".join(state["done"]) or "nothing"
        return [*self._validated(state), HumanMessage(f"{PLAN} Done so far: {done}.")]

    def act(self, state: Mapping[str, Any]) -> list[BaseMessage]:
        """Role, state, and the turn with what this step's calls have brought so far."""
        return [*self._prompt(state), HumanMessage(STEP + state["plan"][0])]

    def reflect(self, state: Mapping[str, Any]) -> list[BaseMessage]:
        """Role, state and the user's message: nothing that no commit has let through."""
        left = "; ".join(state["plan"][1:]) or "none"
        return [*self._validated(state), HumanMessage(f"{REFLECT} Steps left: {left}.")]

    def _validated(self, state: Mapping[str, Any]) -> list[BaseMessage]:
        prompt = self._prompt(state)
        users = max(i for i, m in enumerate(prompt) if isinstance(m, HumanMessage))
        return [*(m for m in prompt if m.type == "system"), prompt[users]]


def structured(model: BaseChatModel, answer: type[BaseModel]) -> Runnable[Any, Any]:
    """The model, which answers with an ``answer``, and not into the user's stream.

    Raises:
        InputError: When it is asked, and answers otherwise.
    """

    def whole(found: Any) -> Any:
        if isinstance(found, answer):
            return found
        raise InputError(
            f"the model gave no {answer.__name__}",
            where="structured output",
            hint="use a model that follows a schema",
        )

    silent = model.with_structured_output(answer).with_config(tags=[TAG_NOSTREAM])
    return silent | RunnableLambda(whole)
