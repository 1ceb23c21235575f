"""The public surface: one list, loaded when used, no vendor on import."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import acc

VENDORS = (
    "chromadb",
    "openai",
    "langgraph",
    "langchain_core",
    "pydantic",
    "numpy",
    "rich",
    "typer",
)


def test_the_public_names_are_this_list() -> None:
    assert sorted(acc.__all__) == sorted(
        [
            "AccError", "Artifact", "ArtifactStore", "AsyncMemoryController", "Channel",
            "ChromaArtifactStore", "Commit", "CompressedCognitiveState", "Compressor",
            "ConfigurationError", "ConflictError", "Context", "Evidence", "Gate", "Item",
            "LangChainCompressor", "InMemoryStore", "MemoryController", "MemoryMiddleware",
            "MemoryNode", "Observation", "OpenAICompressor", "PinnedOverflow", "Policy", "Price",
            "Proposal", "ProposedItem", "Recall", "Retirement", "RuleCompressor", "Settings", "Slot",
            "Step", "Thread", "Trust", "Turn", "Verdict", "__version__", "aupdate_state", "default_gate",
            "seed", "update_state", "wire_schema",
        ]
    )  # fmt: skip


@pytest.mark.parametrize("name", acc.__all__)
def test_every_public_name_loads_and_says_what_it_is(name: str) -> None:
    value = getattr(acc, name)
    assert name == "__version__" or value.__doc__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        _ = acc.nothing_of_the_kind


def test_importing_the_library_loads_no_vendor() -> None:
    code = f"import sys, acc; print([v for v in {VENDORS!r} if v in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


PIPELINE = (
    "turn.turn", "turn.transcript", "state.model", "state.proposal", "stores.protocol", "recall.candidates",
    "gate.protocol", "gate.built_in", "compress.protocol", "commit.commit", "thread.log",
)  # fmt: skip


def test_the_pipeline_imports_no_vendor_but_pydantic_and_numpy() -> None:
    code = (
        f"import sys, importlib; [importlib.import_module('acc.' + m) for m in {PIPELINE!r}];"
        "print([v for v in ('chromadb', 'openai', 'langgraph', 'toon_format', 'rich') if v in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_imports_run_one_way() -> None:
    package = Path(acc.__file__).parent
    for file in package.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(?:from|import) acc_(?:graphs|schemas)", text, re.M), file
