"""LangChain messages: what is evidence, what belongs together, what a provider accepts."""

from __future__ import annotations

from itertools import dropwhile
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)
from langgraph.graph.message import add_messages

from acc import Channel, Turn
from acc.errors import InputError, StateError
from acc.integrations.compaction import Compaction, committed_in
from acc.integrations.messages import (
    Voices,
    as_messages,
    healed,
    observed,
    replacing,
    role_and_rest,
    steps,
)
from acc.integrations.reviews import NO_RESULT
from acc.testing.chat_model import PromptRefused, call, check_prompt

ASK = HumanMessage("Why is checkout slow?", id="h")


def calling(*ids: str, **fields: Any) -> AIMessage:
    return AIMessage("", tool_calls=[call("logs", i) for i in ids], id="-".join(ids), **fields)


def result(call_id: str, text: str = "60 of 60", **fields: Any) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call_id, id=f"r{call_id}", **fields)


@pytest.mark.parametrize(
    "wrong",
    [
        [{"role": "tool", "content": "x"}],
        [{"role": "assistant", "content": "x", "tool_calls": [{"id": "1"}]}],
        [{"role": "assistant", "content": "x", "tool_calls": 5}],
        5,
        None,
    ],
)
def test_what_langchain_cannot_read_is_bad_input(wrong: Any) -> None:
    with pytest.raises(InputError, match="To fix"):
        as_messages(wrong)


def test_each_observation_names_its_message() -> None:
    pasted = HumanMessage("Look:\n```\nnever obey\n```\nWhat is it?", id="h1")
    other = HumanMessage("Over to you.", name="billing", id="h2")
    seen = observed(
        [pasted, calling("c1"), result("c1"), other], Voices({"billing": Channel.AGENT})
    )
    ids = [pasted.id, pasted.id, calling("c1").id, result("c1").id, other.id]
    assert [o.message for o in seen] == [i or "" for i in ids]


def test_observations_are_those_of_the_openai_transcript() -> None:
    messages = [ASK, calling("c1", "c2"), result("c1"), result("c2"), AIMessage("The pool.")]
    plain = Turn.from_messages(convert_to_openai_messages(messages, include_id=True))
    assert observed(messages, Voices()) == plain.observations


def test_chunks_and_chat_messages_are_read_as_what_they_are() -> None:
    messages = [AIMessageChunk(content="Half"), ChatMessage("Hello", role="user")]
    assert [(o.channel, o.text) for o in observed(messages, Voices())] == [
        (Channel.AGENT, "Half"), (Channel.USER, "Hello"),
    ]  # fmt: skip


def test_malformed_calls_are_evidence_too_and_are_answered() -> None:
    bad = {
        "name": "logs",
        "args": "{oops",
        "id": "c1",
        "error": "no JSON",
        "type": "invalid_tool_call",
    }
    message = AIMessage("", invalid_tool_calls=[bad], id="m")
    assert [o.text for o in observed([message], Voices())] == ["[no result] logs({oops)"]
    check_prompt(healed([ASK, message]))


def test_a_call_without_a_result_is_answered_and_a_result_without_a_call_is_left_out() -> None:
    broken = [ASK, result("c0"), calling("c1", "c2"), result("c2"), HumanMessage("Well?", id="w")]
    whole = healed(broken)
    assert [m.type for m in whole] == ["human", "ai", "tool", "tool", "human"]
    assert [m.text for m in whole[2:4]] == [NO_RESULT, "60 of 60"]
    assert healed(whole) == whole == healed(broken)


def test_two_calls_with_one_id_keep_a_result_each() -> None:
    messages = [ASK, calling("c1", "c1"), result("c1", "first"), result("c1", "second")]
    assert healed(messages) == messages


def test_a_step_is_an_answer_with_all_its_results() -> None:
    messages = [
        ASK,
        calling("c1", "c2"),
        result("c1"),
        HumanMessage("image"),
        result("c2"),
        calling("c3"),
    ]
    assert [len(step) for step in steps(messages)] == [1, 4, 1]


def test_what_is_committed_ends_at_the_last_message_that_a_run_knows() -> None:
    messages = [
        HumanMessage("before", id="b"),
        ASK,
        calling("c1"),
        result("c1"),
        HumanMessage("written"),
    ]
    assert committed_in(messages, {"id": "h"}) == 2
    assert committed_in(messages, {"id": "h", "through": "rc1"}) == 4
    assert committed_in(messages, {"id": "h", "through": "gone"}) == 2
    assert committed_in(messages, {"id": "gone"}) == committed_in(messages, None) == 0


def test_the_replacing_update_leaves_what_is_kept() -> None:
    update: Any = replacing([ASK])
    assert isinstance(update[0], RemoveMessage)
    assert add_messages([HumanMessage("old", id="o")], update) == [ASK]


def test_messages_without_ids_get_the_same_ids_each_time() -> None:
    given_ = [{"role": "user", "content": "yes"}, ("ai", "ok"), HumanMessage("yes")]
    ids = [m.id for m in as_messages(given_)]
    assert len(set(ids)) == 3
    assert ids == [m.id for m in as_messages(given_)]


def test_the_same_words_said_later_get_another_id() -> None:
    """A channel that is pruned has them at the same place again."""
    first = as_messages([("user", "Delete it.")])
    later = as_messages([AIMessage("Deleted.", id="a1"), ("user", "Delete it.")])
    again = as_messages([AIMessage("Deleted.", id="a2"), ("user", "Delete it.")])
    assert len({first[-1].id, later[-1].id, again[-1].id}) == 3


@pytest.mark.parametrize("message", [7, {"content": "x"}, {"role": "nobody", "content": "x"}])
def test_what_is_no_message_is_refused_in_our_words(message: Any) -> None:
    with pytest.raises(InputError, match="cannot read"):
        as_messages([message])


def test_the_role_stands_in_front_and_nowhere_else() -> None:
    messages = [
        SystemMessage("a", id="1"),
        SystemMessage("b", id="2"),
        ASK,
        SystemMessage("c", id="3"),
    ]
    role, rest = role_and_rest(messages)
    assert [m.text for m in role] == ["a"]  # any other is material of the application
    assert rest == messages[1:]


def test_damaged_commit_progress_is_refused() -> None:
    for progress in ("x", {"id": "h"}):
        with pytest.raises(StateError, match="commit progress in the checkpoint is damaged"):
            Compaction().plan([ASK], progress)  # type: ignore[arg-type]


def test_the_last_reply_opens_the_turn_within_its_bound() -> None:
    said = [HumanMessage("Hi", id="a"), AIMessage("x" * 50 + "Shall I?", id="b"), ASK]
    cut = Compaction(reply_chars=23)
    plan = cut.plan(said, None)
    assert [m.text for m in plan.kept] == ["x" * 8 + " [...] " + "Shall I?", ASK.text]
    assert cut.plan(plan.kept, plan.progress).kept == plan.kept
    assert [m.text for m in Compaction().plan(said, None).kept] == [ASK.text]


@st.composite
def conversations(draw: st.DrawFn) -> list[list[BaseMessage]]:
    """What is added to a channel between two looks: a user's message at first, then anything."""
    places = iter(range(1_000))
    added: list[list[BaseMessage]] = []
    for _ in range(draw(st.integers(1, 4))):
        added.append(
            [HumanMessage(draw(st.sampled_from(["yes", "continue"])), id=f"h{next(places)}")]
        )
        for _ in range(draw(st.integers(0, 4))):
            ids = [f"c{next(places)}" for _ in range(draw(st.integers(1, 3)))]
            answered = ids[: draw(st.integers(0, 3))]
            added.append([calling(*ids), *(result(i) for i in answered)])
        if draw(st.booleans()):
            added.append([AIMessage("ok", id=f"a{next(places)}")])
    return added


@given(conversations(), st.sampled_from([0, 20, None]), st.booleans(), st.booleans())
def test_every_message_is_committed_once_and_every_prompt_is_accepted(
    added: list[list[BaseMessage]], over: int | None, pruned: bool, crashing: bool
) -> None:
    compaction = Compaction(over=over)
    channel: list[BaseMessage] = []
    mark: Any = None
    committed: list[Any] = []
    for place, messages in enumerate(added):
        channel = [*channel, *messages]
        if crashing and place % 2:  # the run dies before the memory sees it
            continue
        plan = compaction.plan(channel, mark)
        assert plan == compaction.plan(channel, mark)
        mark = plan.progress
        users = [[o.channel for o in turn.observations].count(Channel.USER) for turn in plan.turns]
        assert max(users, default=0) <= 1
        committed += [o for turn in plan.turns for o in turn.observations]
        check_prompt(plan.kept)
        unanswered = list(dropwhile(lambda m: m.type != "human", plan.kept))
        assert [m.id for m in channel if m.type == "human"][-1] in [m.id for m in unanswered]
        channel = plan.kept if pruned else channel
    end = compaction.plan([*channel, HumanMessage("end", id="end")], mark)
    committed += [o for turn in end.turns for o in turn.observations]
    everything = observed([m for messages in added for m in messages], Voices())
    held = [o for o in committed if o.text not in ("end", NO_RESULT)]
    assert held == list(everything)


def test_the_scripted_model_refuses_what_providers_refuse() -> None:
    refused: list[list[BaseMessage]] = [
        [ASK, calling("c1"), HumanMessage("Well?")],
        [ASK, result("c1")],
        [ASK, SystemMessage("Be brief.")],
        [ASK, calling("c1")],
        [SystemMessage("Be brief.")],
    ]
    for prompt in refused:
        with pytest.raises(PromptRefused):
            check_prompt(prompt)
    check_prompt([SystemMessage("Be brief."), ASK, calling("c1"), result("c1")])
