"""What the heuristics on messages find and what they take by mistake: pasted text, and secrets.

    python benchmarks/message_heuristics.py [--examples]

- plain: every message of a user in the scenarios and labelled sentences of this repository. What becomes a
  document there was pasted, or was lost from the user's own words: read it with ``--examples``.
- secrets: those messages, and what tools and agents say in the scenarios. Nobody put a secret into them on purpose.

Pastes that bear marks are no matter of rates: `tests/turn/test_pasted.py` tries every one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "keyless"))

from dataset import read

from acc.turn.observations import Channel
from acc.turn.redact import SecretRedactor
from acc.turn.turn import Turn

ROOT = Path(__file__).parent.parent


def scenario_turns() -> Iterator[dict[str, Any]]:
    """The turns of all scenarios of the repository."""
    for _, scenario in read("scenarios"):
        yield from scenario.get("turns", ())
    for path in sorted((ROOT / "evaluation/acc_eval/shipped").glob("*.json")):
        yield from json.loads(path.read_text("utf-8")).get("turns", ())


def plain_messages() -> Iterator[str]:
    """What users say in the scenarios and labelled sentences of the repository."""
    for _, said in read("clause_acts"):
        yield said["message"]
    yield from (turn.get("user", "") for turn in scenario_turns())
    for line in (ROOT / "examples/incident.jsonl").read_text("utf-8").splitlines():
        message = json.loads(line)
        if message.get("role") == "user":
            yield message["content"]


def other_texts() -> Iterator[str]:
    """What tools and agents say in the scenarios."""
    for turn in scenario_turns():
        yield turn.get("assistant", "")
        yield from (output["content"] for output in turn.get("tool_outputs", ()))


def main() -> None:
    """Print the rates."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", action="store_true", help="print what is split and redacted")
    examples = parser.parse_args().examples
    said = [message for message in plain_messages() if message.strip()]
    split = [
        (
            message,
            [
                seen.text
                for seen in Turn.said(message).observations
                if seen.channel is Channel.DOCUMENT
            ],
        )
        for message in said
    ]
    split = [(message, documents) for message, documents in split if documents]
    print(f"plain messages: {len(split)} of {len(said):,} split")
    redact = SecretRedactor(b"a key of sixteen bytes")
    texts = [*said, *other_texts()]
    redacted = [made for text in texts if (made := redact(text)) != text]
    print(f"secrets: {len(redacted)} of {len(texts):,} texts changed")
    if examples:
        for message, documents in split:
            print("split:", repr(message), "->", documents)
        for made in redacted:
            print("redacted:", repr(made))


if __name__ == "__main__":
    main()
