"""`MemoryMiddleware` in long tool loops: commits within the user's turn."""

from __future__ import annotations

from typing import Any

import pytest
from agents import (
    BOTH,
    RULES_HEAD,
    THREAD,
    Enter,
    evidence,
    new_agent,
    new_memory,
    say,
    spoken,
    system,
)
from langchain.agents.middleware import SummarizationMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.tools import tool

from acc.errors import ConfigurationError
from acc.integrations.langchain import MemoryMiddleware
from acc.testing.chat_model import ScriptedChatModel, call, check_prompt
from acc.text.tokens import utf8_quarter

RULE = f"{RULES_HEAD}. Look at every shard."


@tool
def read_shard(n: int) -> str:
    """The log of a shard."""
    return f"shard {n}: " + "connection refused by the pool; " * 8


def walking(shards: int) -> ScriptedChatModel:
    """A model that reads the log of one shard after the other, then answers."""
    read = iter(range(shards))

    def decide(_: list[BaseMessage]) -> AIMessage:
        n = next(read, None)
        if n is None:
            return AIMessage("Every pool is exhausted.")
        return AIMessage("", tool_calls=[call("read_shard", f"c{n}", n=n)])

    return ScriptedChatModel(script=decide)


def size(prompt: list[BaseMessage]) -> int:
    return sum(utf8_quarter(str(m.text)) for m in prompt)


@pytest.mark.parametrize("enter", BOTH)
@pytest.mark.parametrize("shards", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_any_number_of_calls_in_one_turn_of_the_user_keeps_the_prompt_bounded(
    enter: Enter, shards: int
) -> None:
    memory, model = new_memory(), walking(shards)
    agent = new_agent(model, [MemoryMiddleware(memory, fold_over=600)], tools=[read_shard])
    limited = agent.with_config(recursion_limit=2_000)
    out = enter(limited, {"messages": [HumanMessage(RULE)]})
    assert len(model.prompts) == shards + 1
    assert max(map(size, model.prompts)) < 800 + 600 + 200
    for prompt in model.prompts:
        check_prompt(prompt)
        assert spoken(prompt)[0] == ("human", RULE)
        assert RULES_HEAD in system(prompt)
    kept = evidence(memory, agent)
    assert [c for c, _ in kept].count("tool") == shards
    assert len(set(kept)) == len(kept) == 1 + 2 * shards + 1
    assert shards / 20 < out["ccs"]["turn"] < shards / 3


def test_each_step_can_be_folded_and_the_latest_stays_verbatim() -> None:
    memory, model = new_memory(), walking(5)
    agent = new_agent(model, [MemoryMiddleware(memory, fold_over=0)], tools=[read_shard])
    out = say(agent, RULE)
    assert [len(p) for p in model.prompts] == [2, 4, 4, 4, 4, 4]
    assert "shard 4: connection" in spoken(model.prompts[-1])[-1][1]
    assert out["ccs"]["turn"] == 1 + 4
    assert [kind for kind, _ in spoken(out["messages"])][-1] == "ai"


def test_without_folding_the_turn_waits_for_the_users_next() -> None:
    memory, model = new_memory(), walking(30)
    agent = new_agent(model, [MemoryMiddleware(memory, fold_over=None)], tools=[read_shard])
    out = agent.with_config(recursion_limit=200).invoke({"messages": [HumanMessage(RULE)]}, THREAD)
    assert out["ccs"]["turn"] == 1
    assert len(model.prompts[-1]) == 2 + 2 * 30


def test_parallel_calls_fold_into_one_commit_with_all_their_results() -> None:
    memory = new_memory()

    def three(round_: int) -> AIMessage:
        calls = [call("read_shard", f"r{round_}c{n}", n=n) for n in range(3)]
        return AIMessage("", tool_calls=calls)

    model = ScriptedChatModel(script=[three(0), three(1), three(2), "Done."])
    agent = new_agent(model, [MemoryMiddleware(memory, fold_over=0)], tools=[read_shard])
    out = say(agent, RULE)
    assert out["ccs"]["turn"] == 1 + 2
    for prompt in model.prompts[1:]:
        check_prompt(prompt)
        assert [kind for kind, _ in spoken(prompt)] == ["human", "ai", "tool", "tool", "tool"]
    assert [c for c, _ in evidence(memory, agent)].count("tool") == 9


def test_a_crash_between_folds_resumes_with_exact_evidence() -> None:
    memory, model = new_memory(), walking(6)
    armed = [True]
    plain = memory.artifacts.add

    def failing(tenant: str, artifacts: Any) -> None:
        if armed and any("shard 4" in a.text for a in artifacts):
            armed.clear()
            raise RuntimeError("killed")
        plain(tenant, artifacts)

    memory.artifacts.add = failing  # type: ignore[method-assign]
    agent = new_agent(model, [MemoryMiddleware(memory, fold_over=0)], tools=[read_shard])
    with pytest.raises(RuntimeError, match="killed"):
        say(agent, RULE)
    agent.invoke(None, THREAD)
    kept = evidence(memory, agent)
    assert len(set(kept)) == len(kept)
    assert [c for c, _ in kept] == ["user"] + ["agent", "tool"] * 6 + ["agent"]


def test_a_summarizer_beside_folded_steps_has_nothing_to_remove() -> None:
    writer = ScriptedChatModel(script=[], at_end="fail")
    summing = SummarizationMiddleware(writer, trigger=("messages", 8), keep=("messages", 4))
    model = walking(20)
    agent = new_agent(
        model, [MemoryMiddleware(new_memory(), fold_over=0), summing], tools=[read_shard]
    )
    agent.with_config(recursion_limit=200).invoke({"messages": [HumanMessage(RULE)]}, THREAD)
    assert writer.prompts == []


def test_a_negative_bound_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="folded over -1"):
        MemoryMiddleware(new_memory(), fold_over=-1)
