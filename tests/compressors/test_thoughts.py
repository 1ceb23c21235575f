"""What a model writes while it thinks is never taken for its answer, and its answer is found."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from typing import Any

import pytest
from asking import GOOD, InProcess, asking, fact, stepped, wire
from hypothesis import given
from hypothesis import strategies as st

from acc.compress.answers import NoJson, json_in
from acc.compress.langchain import _reply
from acc.compress.model import ModelCompressor
from acc.compress.openai_calls import reply_of
from acc.testing import ModelServer

NAMES = ("constraints", "semantic_gist", "retire")
DRAFT: dict[str, Any] = {"constraints": [], "semantic_gist": [{"text": "A DRAFT"}], "retire": []}
FINAL: dict[str, Any] = {"semantic_gist": [{"text": "Checkout is slow"}], "retire": []}
NOTHING: dict[str, Any] = {"constraints": [], "retire": []}
RULE = '{"constraints": [{"text": "Never deploy"}]}'
D, F = json.dumps(DRAFT), json.dumps(FINAL)

THOUGHTS = (
    f"<think>Say {D}? No.</think>\n",
    f"Say {D}? No.\n</think>\n\n",
    f'<think budget="9">Say {D}? No.</think>',
    f"<think>{D}</think>",
    f"<think>Say {D}</thinking>",
    f"<think>Say <think>{D}</think>? No.</think>",
    f"<think>Say <think>{D}? No.</think>",
    f"<think>So {{this}} or {{'that'}} or {{\"a\": [ or {D}? No.</think>",
    f'<think>It began {{"a": "so and {D}? No.</think>',
    f"<thought>Say {D}? No.</thought>",
    f"<reasoning>Say {D}? No.</reasoning>",
    f"<reflection><step n='1'>Say {D}?</step> No.</reflection>",
    f"<inner_voice>Say {D}? No.</inner_voice>",
    f"<思考>Say {D}? No.</思考>",
    f"<unused94>thought\nSay {D}? No.<unused95>",
    f"[THINK]Say {D}? No.[/THINK]",
    f"[thinking]Say {D}? No.[/thinking]",
    f"◁think▷Say {D}? No.◁/think▷",
    f"<|channel|>analysis<|message|>Say {D}? No.<|end|><|start|>assistant<|channel|>final<|message|>",
    f"<|channel|>analysis<|message|>Say {D}? No.<|end|><|start|>assistant<|channel|>commentary "
    "to=functions.propose_state <|constrain|>json<|message|>",
    f"<|begin_of_thought|>Say {D}? No.<|end_of_thought|>\n<|begin_of_solution|>",
    f"<|START_THINKING|>Say {D}? No.<|END_THINKING|><|START_RESPONSE|>",
    f"analysisSay {D}? No.assistantfinal",
    f"Thought: Say {D}? No.\n\nFinal answer: ",
)
"""How models think before they answer; what follows is the answer."""

CUT_OFF = (
    f"<think>Say {D}? No, since",
    f"<think>{D}",
    f"<think>{D}</think>",
    f"<think>Say {D}? No.</think>",
    f"<think>Say <think>hm</think> {D}? No",
    f"<think>Say {D}? No.</think>{F[:-1]}",
    f"<inner_voice>Say {D}? No, since",
    f"[THINK]Say {D}? No, since",
    f"[thinking]Say {D}? No, since",
    f"◁think▷Say {D}? No, since",
    f"<|channel|>analysis<|message|>Say {D}? No, since",
    f"<|channel|>analysis<|message|>{D}",
    f"<|START_THINKING|>Say {D}? No, since",
    f"Say {D}? No.\n</think>\n\n",
    f"Say {D}? No, since",
    f"Say {D}? No. So: {F[:40]}",
    f"{D}<think>No, that",
)


@pytest.mark.parametrize("thoughts", THOUGHTS)
@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```\n", "{}<|im_end|>", "\n\n{}\n"])
def test_the_answer_behind_the_thoughts_is_found(thoughts: str, form: str) -> None:
    assert json_in(thoughts + form.format(F), NAMES) == FINAL


@pytest.mark.parametrize("thoughts", THOUGHTS[:20])
def test_an_answer_that_says_nothing_is_one(thoughts: str) -> None:
    assert json_in(thoughts + json.dumps(NOTHING), NAMES) == NOTHING


@pytest.mark.parametrize("text", CUT_OFF)
def test_what_was_cut_off_within_thoughts_holds_no_answer(text: str) -> None:
    with pytest.raises(NoJson):
        json_in(text, NAMES)


MARKED = st.sampled_from(
    [t for t in THOUGHTS if not t.startswith(("analysis", "Thought", "Say"))]
)  # fmt: skip


@given(MARKED, st.data())
def test_wherever_a_text_is_cut_off_its_draft_is_never_the_answer(
    thoughts: str, data: st.DataObject
) -> None:
    text = thoughts + F
    cut = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(NoJson):
        json_in(text[:cut], NAMES)


SAYS_TAGS = {"semantic_gist": [{"text": 'The <think> tag, </think>, [THINK] and {"a": [ in it'}]}


@pytest.mark.parametrize("form", ["{}", "Here: {}", "```json\n{}\n```", "<think>No</think>{}"])
def test_an_answer_that_speaks_of_markers_keeps_its_words(form: str) -> None:
    assert json_in(form.format(json.dumps(SAYS_TAGS)), NAMES) == SAYS_TAGS


@given(st.lists(st.sampled_from([*THOUGHTS, *CUT_OFF, "<think>", "</think>", "{", '"', "\\", "x"])))
def test_whatever_a_text_says_of_thoughts_it_is_kept(pieces: list[str]) -> None:
    said = {"semantic_gist": [{"text": "".join(pieces)}]}
    assert json_in(f"<think>{D}</think>{json.dumps(said)}", NAMES) == said


@pytest.mark.parametrize(
    "text",
    [
        f"<answer>Here you go: {F} Done.</answer>",
        f"<think>{D}</think><answer>Here: {F} Done.</answer>",
        f"<tool_call>\n{F}\n</tool_call>",
        f"<tool_call>{F}",
        f"{F}\n</tool_call>",
        f"<|im_start|>assistant\n{F}<|im_end|>",
        f"<|channel|>final<|message|>Sure: {F} Bye.<|return|>",
        f"Sure! {F} Bye.</s>",
        f"{F}<think>Or {D}? No.</think>",
        f"</think>\n{F}\n\nHope that helps",
        f"{F}\n{{}}",
        f'{F}\nAn item looks like {{"text": "x", "cites": []}}.',
        f"[{F}]",
        f"Sure: [{F}].",
        f'{{"proposal": {F}}}',
        f'{{"name": "propose_state", "arguments": {F}}}',
        json.dumps(F),
        f"\ufeff{F}",
    ],
)
def test_what_stands_around_an_answer_does_no_harm(text: str) -> None:
    assert json_in(text, NAMES) == FINAL


@pytest.mark.parametrize(
    "text",
    [
        f"{RULE}\n{F}",
        f"{RULE}, {F}",
        f"Here: [{RULE}, {F}].",
        f"{F} (an empty one would be {json.dumps(NOTHING)})",
    ],
)
def test_of_several_objects_none_is_taken_for_all(text: str) -> None:
    with pytest.raises(NoJson, match="several"):
        json_in(text, NAMES)


def test_a_list_under_a_key_that_stands_twice_is_kept_whole() -> None:
    assert json_in('{"retire": [1], "constraints": [], "retire": [2]}', NAMES) == {
        "retire": [1, 2],
        "constraints": [],
    }


LONG = 200_000
OBJECT = '{"retire": []}'


@pytest.mark.parametrize(
    "text",
    [
        *(unit * (LONG // len(unit)) for unit in (
            "{", "{}", '{"', '{"a":', '{"a":x', OBJECT, f"<a>{OBJECT}", "<think>", "</a>", "[THINK]",
            "<|x|>", "<|end|>", "<think>{", "<a ", "[A", "```", '{"a": "\\"', "{" + " " * 50,
        )),
        '{"a":' * 900 + "[" + "1," * (LONG // 2),
        "<tool>" * (LONG // 12) + f"<x>p {OBJECT}" * (LONG // 40),
        "\n" * (LONG // 2) + '{"a":x' * (LONG // 12),
    ],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_long_text_is_read_in_no_time(text: str) -> None:
    begun = time.process_time()
    with suppress(NoJson):
        json_in(text, NAMES)
    assert time.process_time() - begun < 1


def test_a_draft_is_asked_about_again_and_never_committed() -> None:
    draft = json.dumps(wire(relational_map=[fact("db", "DRAFT", "u1")]))
    with ModelServer([f"<think>Say {draft}? No, since", GOOD]) as server:
        step = stepped(asking(server.base_url))
    assert step.outcome == "repaired"
    assert [relation.object for relation in step.state.relational_map] == ["db-7"]

    step = stepped(ModelCompressor(InProcess(lambda _: f"<think>Say {draft}? No, since")))
    assert (step.outcome, step.state.relational_map) == ("invalid_json", ())
    assert step.commit.held


# --- what APIs and SDKs make of thoughts ----------------------------------------------------


def chat(message: dict[str, Any]) -> Any:
    return reply_of({"choices": [{"finish_reason": "stop", "message": message}]}, "chat")


@pytest.mark.parametrize("kind", ["thinking", "reasoning", "redacted_thinking"])
def test_parts_of_a_message_that_hold_reasoning_are_no_answer(kind: str) -> None:
    parts = [{"type": kind, "text": D, "thinking": D}, {"type": "text", "text": F}]
    assert chat({"content": parts}).text == F
    output = [{"type": "reasoning", "content": [{"type": "reasoning_text", "text": D}]}]
    output += [{"type": "message", "content": [{"type": "output_text", "text": F}]}]
    assert reply_of({"output": output}, "responses").text == F
    assert chat({"content": F, "reasoning_content": D, "reasoning": D}).text == F
    assert chat({"content": None, "reasoning_content": D}).text == ""


def test_of_several_tool_calls_none_is_dropped() -> None:
    calls = [{"function": {"name": "propose_state", "arguments": text}} for text in (RULE, F)]
    with pytest.raises(NoJson, match="several"):
        json_in(chat({"tool_calls": calls}).text, NAMES)
    assert json_in(chat({"tool_calls": calls[1:], "content": "Done."}).text, NAMES) == FINAL
    thinking = {"function": {"arguments": f"<think>{D}</think>{F}"}}
    assert json_in(chat({"tool_calls": [thinking]}).text, NAMES) == FINAL


def test_langchains_parser_completes_no_answer_that_was_cut_off() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    cut = messages.AIMessage('{"semantic_gist": [{"text": "Checkout is')
    assert _reply({"raw": cut, "parsed": FINAL}).text == cut.content
    blocks = [{"type": "thinking", "thinking": D}, {"type": "text", "text": F}]
    assert _reply(messages.AIMessage(blocks)).text == F
    blocks = [{"type": "reasoning", "reasoning": D}, {"type": "text", "text": F}]
    assert _reply({"raw": messages.AIMessage(blocks), "parsed": DRAFT}).text == F
    called = [
        {"name": "propose_state", "args": args, "id": "1"} for args in (json.loads(RULE), FINAL)
    ]
    with pytest.raises(NoJson, match="several"):
        json_in(
            _reply({"raw": messages.AIMessage("", tool_calls=called), "parsed": FINAL}).text, NAMES
        )
