"""The whole loop with a journal: recall, qualify, compress, commit, persist; then open the evidence."""

import json
import tempfile
from pathlib import Path

from acc.controller.controller import MemoryController
from acc.state.model import CompressedCognitiveState
from acc.turn.turn import Turn

CONVERSATION = Path(__file__).parent / "incident.jsonl"


def main() -> None:
    """Six turns of the example conversation, with what was recalled and why."""
    messages = [json.loads(line) for line in CONVERSATION.read_text(encoding="utf-8").splitlines()]
    turns = Turn.all_from_messages(messages)[:6]
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        state: CompressedCognitiveState | None = None
        for turn in turns:
            step = memory.step(state, turn, thread="inc-7731")
            state = step.state
            recalled = [each.ref for each in step.verdicts if each.reason == "admitted"]
            tokens = memory.policy.counter(step.text())
            print(
                f"turn {state.turn}: {tokens} tokens; recalled {', '.join(recalled) or 'nothing'}"
            )
        print("\n".join(step.explain().splitlines()[:8]))
        print(memory.open_evidence("u1", thread="inc-7731").text)


if __name__ == "__main__":
    main()
