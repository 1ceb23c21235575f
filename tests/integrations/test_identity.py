"""Whose memory a run works on."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from langchain_core.messages import HumanMessage

from acc import Thread
from acc.errors import ConfigurationError, InputError
from acc.integrations.identity import Identity, thread_of
from acc.integrations.langgraph import MemoryNode
from graphs import evidence, memory_of


def config(**configurable: Any) -> dict[str, Any]:
    return {"configurable": configurable}


@pytest.mark.parametrize("given", [7, "7"])
def test_trap_an_id_that_is_no_text_crashes_deep_inside(given: Any) -> None:
    assert Identity()(config(thread_id=given)) == Thread(thread="7")


def test_a_uuid_is_its_text() -> None:
    given = UUID("12345678123456781234567812345678")
    assert Identity()(config(thread_id=given)).thread == str(given)


@pytest.mark.parametrize("given", [True, ["a"], {"a": 1}, 1.5])
def test_an_id_of_another_kind_is_refused(given: Any) -> None:
    with pytest.raises(InputError, match="thread_id is"):
        Identity()(config(thread_id=given))


@pytest.mark.parametrize(
    "given", [{}, {"configurable": {}}, config(thread_id=""), config(thread_id=None)]
)
def test_a_run_without_a_thread_is_an_error_that_says_how_to_mend_it(given: Any) -> None:
    with pytest.raises(ConfigurationError, match=r'invoke with \{"configurable": \{"thread_id"'):
        Identity()(given)


def test_a_default_is_what_the_deployer_states() -> None:
    assert Identity(default="desk")({}) == Thread(thread="desk")
    assert Identity(default="desk")(config(thread_id="t")) == Thread(thread="t")


def test_only_keys_that_were_named_are_read() -> None:
    sent = config(thread_id="t", user="mallory", tenant="acme", agent="a", user_id=7)
    assert Identity(user="")(sent) == Thread(thread="t")
    assert Identity()(sent) == Thread(thread="t", user="7")
    named = Identity(user="user_id", tenant="tenant", agent="agent")
    assert named(sent) == Thread(thread="t", user="7", tenant="acme", agent="a")


def test_a_named_key_that_is_absent_is_no_default_user() -> None:
    with pytest.raises(ConfigurationError, match="user_id"):
        Identity(user="user_id")(config(thread_id="t"))


def test_a_hook_tells_whose_memory_it_is() -> None:
    memory = memory_of()

    def hook(config: Any) -> Thread:
        authenticated = config["configurable"]["langgraph_auth_user"]
        return Thread(thread="t", user=authenticated["identity"])

    node = MemoryNode(memory, identity=hook)
    given = {"messages": [HumanMessage("The code is 7741.")]}
    out = node.invoke(given, config(langgraph_auth_user={"identity": "ana"}, thread_id="forged"))
    who = Thread(thread="t", user="ana")
    assert [a.text for a in evidence(memory, out["ccs"], who)] == ["The code is 7741."]
    assert evidence(memory, None, Thread(thread="forged")) == []


@pytest.mark.parametrize("told", [None, "", 7, {"thread": "t"}])
def test_a_hook_that_tells_no_thread_is_named(told: Any) -> None:
    def hook(_: Any) -> Any:
        return told

    with pytest.raises(ConfigurationError, match="identity=hook"):
        thread_of({}, hook)
