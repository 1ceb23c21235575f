"""A graph that was there before, and the memory as one node more; offline, model scripted.

Without the three marked lines the model reads the whole conversation, and more each turn.
"""

import tempfile

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from acc.controller.controller import MemoryController
from acc.integrations.langgraph import MemoryNode, MemoryState
from acc.state.render import render
from acc.testing.chat_model import ScriptedChatModel

ASKED = (
    "Never deploy on a Friday. Release 7.4 is ready.",
    "What is still open?",
    "And who is on call?",
    "It is Friday. Shall we deploy 7.4?",
)


def decide(prompt: list[BaseMessage]) -> AIMessage:
    """A stand-in for a chat model: it answers from what its prompt says."""
    read = "\n".join(str(m.text) for m in prompt)
    if "Shall we deploy" in str(prompt[-1].text):
        return AIMessage("No: never on a Friday." if "Never deploy" in read else "Yes, deploying.")
    return AIMessage("Nothing that I know of.")


def main() -> None:
    """Four turns on one thread."""
    model = ScriptedChatModel(script=decide)
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        node = MemoryNode(memory)  # 1
        prompt = node.prompt("You are the release manager.")

        builder = StateGraph(MemoryState, input_schema=MessagesState)
        builder.add_node("memory", node)  # 2
        builder.add_node("model", lambda state: {"messages": [model.invoke(prompt(state))]})
        builder.add_edge(START, "memory")  # 3
        builder.add_edge("memory", "model")
        graph = builder.compile(checkpointer=InMemorySaver())

        config: RunnableConfig = {"configurable": {"thread_id": "release-7.4"}}
        for said in ASKED:
            out = graph.invoke({"messages": [HumanMessage(said)]}, config)
            print(f"user:  {said}\nagent: {out['messages'][-1].text}\n")
        print(f"messages in the last prompt: {len(model.prompts[-1])}")
        state = memory.last_state("release-7.4")
        assert state is not None
        print(render(state))


if __name__ == "__main__":
    main()
