"""The whole loop with a store: recall, qualify, compress, commit, store; then open the evidence."""

import json
import tempfile
from pathlib import Path

from acc import MemoryController, Turn

CONVERSATION = Path(__file__).parent / "incident.jsonl"


def main() -> None:
    """Six turns of the example conversation, with what was recalled and why."""
    messages = [json.loads(line) for line in CONVERSATION.read_text(encoding="utf-8").splitlines()]
    turns = Turn.all_from_messages(messages)[:6]
    with tempfile.TemporaryDirectory() as folder, MemoryController.open(folder) as memory:
        state = None
        for turn in turns:
            done = memory.step(state, turn, thread="inc-7731")
            state = done.state
            admitted = ", ".join(e.ref for e in done.evidence) or "nothing"
            print(f"turn {state.turn}: {done.commit.tokens} tokens; recalled {admitted}")
        print(done.explain())
        print(memory.open_evidence("u1", done.state, thread="inc-7731"))


if __name__ == "__main__":
    main()
