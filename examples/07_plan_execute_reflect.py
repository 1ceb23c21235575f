"""A planner whose reflection reads validated state: the web's wrong version never gets there.

Web search brings back four pages, of which three name a version that fixes nothing, and one waives
the approvals. Offline: the pages are a file, and the model is scripted and believes what it reads.
On a real model: python examples/07_plan_execute_reflect.py openai:gpt-x
"""

import sys
import tempfile

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from acc.controller.controller import MemoryController
from acc.state.render import render
from acc.testing.chat_model import ScriptedChatModel
from acc_graphs import remediation
from acc_graphs.plan_execute_reflect import build

ASKED = (
    "Draft a remediation plan for CVE-2031-0420 in parcel-gateway. Never deploy without two "
    "approvals. Never change anything outside the window on Sunday at 02:00."
)


def main(model: str = "") -> None:
    """One message of the user; the plan is made, acted on, reflected upon and made again."""
    with (
        tempfile.TemporaryDirectory() as folder,
        MemoryController.open(folder, **remediation.SETTINGS) as memory,
    ):
        graph = build(
            model or ScriptedChatModel(script=remediation.decide),
            remediation.TOOLS,
            memory,
            role=remediation.ROLE,
            channels=remediation.CHANNELS,  # the web is a document: it can make nothing true
            checkpointer=InMemorySaver(),
        )
        config: RunnableConfig = {"configurable": {"thread_id": "vuln-0420"}}
        given = {"messages": [("user", ASKED)]}
        for event in graph.stream(given, config, stream_mode="updates"):
            for node, update in event.items():
                if node == "plan":
                    print(f"plan:   {'; '.join(update['plan'])}")
                elif node == "tools":
                    for message in update["messages"]:
                        print(f"{message.name}: {str(message.text)[:70]} ...")
        values = graph.get_state(config).values
        print(f"\nagent:  {values['messages'][-1].text}\n")
        state = memory.last_state("vuln-0420")
        assert state is not None
        print(render(state))


if __name__ == "__main__":
    main(*sys.argv[1:2])
