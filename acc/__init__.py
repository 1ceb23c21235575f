"""ACC, the Agent Cognitive Compressor: a bounded, typed memory in front of LLM agents.

Recall, qualify, compress, commit, store. Names are loaded when first used, so that
``import acc`` loads no vendor and takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acc.commit import Commit as Commit
    from acc.compress import Compressor as Compressor
    from acc.compress import Proposal as Proposal
    from acc.compress import ProposedItem as ProposedItem
    from acc.compress import Retirement as Retirement
    from acc.compress import wire_schema as wire_schema
    from acc.compressors.langchain import LangChainCompressor as LangChainCompressor
    from acc.compressors.openai import OpenAICompressor as OpenAICompressor
    from acc.compressors.rules import RuleCompressor as RuleCompressor
    from acc.controller import AsyncMemoryController as AsyncMemoryController
    from acc.controller import MemoryController as MemoryController
    from acc.controller import seed as seed
    from acc.errors import AccError as AccError
    from acc.errors import ConfigurationError as ConfigurationError
    from acc.errors import ConflictError as ConflictError
    from acc.errors import PinnedOverflow as PinnedOverflow
    from acc.gate import Context as Context
    from acc.gate import Gate as Gate
    from acc.gate import Verdict as Verdict
    from acc.gates import default_gate as default_gate
    from acc.integrations.langchain import MemoryMiddleware as MemoryMiddleware
    from acc.integrations.langgraph import MemoryNode as MemoryNode
    from acc.items import Item as Item
    from acc.memory import Settings as Settings
    from acc.policy import Policy as Policy
    from acc.price import Price as Price
    from acc.recall import Recall as Recall
    from acc.run import Step as Step
    from acc.slots import Slot as Slot
    from acc.state import CompressedCognitiveState as CompressedCognitiveState
    from acc.store import Artifact as Artifact
    from acc.store import ArtifactStore as ArtifactStore
    from acc.store import Thread as Thread
    from acc.stores.chroma import ChromaArtifactStore as ChromaArtifactStore
    from acc.stores.memory import MemoryArtifactStore as MemoryArtifactStore
    from acc.turn import Channel as Channel
    from acc.turn import Evidence as Evidence
    from acc.turn import Observation as Observation
    from acc.turn import Trust as Trust
    from acc.turn import Turn as Turn
    from acc.updating import aupdate_state as aupdate_state
    from acc.updating import update_state as update_state

__version__ = "0.1.0"

_HOME = {
    "AccError": "acc.errors",
    "Artifact": "acc.store",
    "ArtifactStore": "acc.store",
    "AsyncMemoryController": "acc.controller",
    "Channel": "acc.turn",
    "ChromaArtifactStore": "acc.stores.chroma",
    "Commit": "acc.commit",
    "CompressedCognitiveState": "acc.state",
    "Compressor": "acc.compress",
    "ConfigurationError": "acc.errors",
    "ConflictError": "acc.errors",
    "Context": "acc.gate",
    "Evidence": "acc.turn",
    "Gate": "acc.gate",
    "Item": "acc.items",
    "LangChainCompressor": "acc.compressors.langchain",
    "MemoryArtifactStore": "acc.stores.memory",
    "MemoryController": "acc.controller",
    "MemoryMiddleware": "acc.integrations.langchain",
    "MemoryNode": "acc.integrations.langgraph",
    "Observation": "acc.turn",
    "OpenAICompressor": "acc.compressors.openai",
    "PinnedOverflow": "acc.errors",
    "Policy": "acc.policy",
    "Price": "acc.price",
    "Proposal": "acc.compress",
    "ProposedItem": "acc.compress",
    "Recall": "acc.recall",
    "Retirement": "acc.compress",
    "RuleCompressor": "acc.compressors.rules",
    "Settings": "acc.memory",
    "Slot": "acc.slots",
    "Step": "acc.run",
    "Thread": "acc.store",
    "Trust": "acc.turn",
    "Turn": "acc.turn",
    "Verdict": "acc.gate",
    "aupdate_state": "acc.updating",
    "default_gate": "acc.gates",
    "seed": "acc.controller",
    "update_state": "acc.updating",
    "wire_schema": "acc.compress",
}

__all__ = [*sorted(_HOME), "__version__"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'acc' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
