"""ACC, the Agent Cognitive Compressor: a bounded, typed memory in front of LLM agents.

Recall, qualify, compress, commit, persist. Names are loaded when first used, so that
``import acc`` loads no vendor and takes milliseconds.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from acc.commit.commit import Commit as Commit
    from acc.compress.langchain import LangChainCompressor as LangChainCompressor
    from acc.compress.openai import OpenAICompressor as OpenAICompressor
    from acc.compress.protocol import Compressor as Compressor
    from acc.compress.protocol import Price as Price
    from acc.compress.protocol import wire_schema as wire_schema
    from acc.controller import AsyncMemoryController as AsyncMemoryController
    from acc.controller import MemoryController as MemoryController
    from acc.errors import AccError as AccError
    from acc.errors import ConfigurationError as ConfigurationError
    from acc.errors import ConflictError as ConflictError
    from acc.errors import PinnedOverflow as PinnedOverflow
    from acc.gate.built_in import default_gate as default_gate
    from acc.gate.protocol import Context as Context
    from acc.gate.protocol import Gate as Gate
    from acc.gate.protocol import Verdict as Verdict
    from acc.integrations.langchain import MemoryMiddleware as MemoryMiddleware
    from acc.integrations.langgraph import MemoryNode as MemoryNode
    from acc.keyless.compressor import RuleCompressor as RuleCompressor
    from acc.pipeline.session import Settings as Settings
    from acc.pipeline.turn_pipeline import Step as Step
    from acc.pipeline.update import aupdate_state as aupdate_state
    from acc.pipeline.update import seed as seed
    from acc.pipeline.update import update_state as update_state
    from acc.recall.candidates import Recall as Recall
    from acc.state.items import Item as Item
    from acc.state.model import CompressedCognitiveState as CompressedCognitiveState
    from acc.state.policy import Policy as Policy
    from acc.state.proposal import Proposal as Proposal
    from acc.state.proposal import ProposedItem as ProposedItem
    from acc.state.proposal import Retirement as Retirement
    from acc.state.slots import Slot as Slot
    from acc.stores.chroma.store import ChromaArtifactStore as ChromaArtifactStore
    from acc.stores.in_memory import InMemoryStore as InMemoryStore
    from acc.stores.protocol import Artifact as Artifact
    from acc.stores.protocol import ArtifactStore as ArtifactStore
    from acc.stores.protocol import Thread as Thread
    from acc.turn.observations import Channel as Channel
    from acc.turn.observations import Evidence as Evidence
    from acc.turn.observations import Observation as Observation
    from acc.turn.observations import Trust as Trust
    from acc.turn.turn import Turn as Turn

__version__ = "0.1.0"

_HOME = {
    "AccError": "acc.errors",
    "Artifact": "acc.stores.protocol",
    "ArtifactStore": "acc.stores.protocol",
    "AsyncMemoryController": "acc.controller",
    "Channel": "acc.turn.observations",
    "ChromaArtifactStore": "acc.stores.chroma.store",
    "Commit": "acc.commit.commit",
    "CompressedCognitiveState": "acc.state.model",
    "Compressor": "acc.compress.protocol",
    "ConfigurationError": "acc.errors",
    "ConflictError": "acc.errors",
    "Context": "acc.gate.protocol",
    "Evidence": "acc.turn.observations",
    "Gate": "acc.gate.protocol",
    "Item": "acc.state.items",
    "LangChainCompressor": "acc.compress.langchain",
    "InMemoryStore": "acc.stores.in_memory",
    "MemoryController": "acc.controller",
    "MemoryMiddleware": "acc.integrations.langchain",
    "MemoryNode": "acc.integrations.langgraph",
    "Observation": "acc.turn.observations",
    "OpenAICompressor": "acc.compress.openai",
    "PinnedOverflow": "acc.errors",
    "Policy": "acc.state.policy",
    "Price": "acc.compress.protocol",
    "Proposal": "acc.state.proposal",
    "ProposedItem": "acc.state.proposal",
    "Recall": "acc.recall.candidates",
    "Retirement": "acc.state.proposal",
    "RuleCompressor": "acc.keyless.compressor",
    "Settings": "acc.pipeline.session",
    "Slot": "acc.state.slots",
    "Step": "acc.pipeline.turn_pipeline",
    "Thread": "acc.stores.protocol",
    "Trust": "acc.turn.observations",
    "Turn": "acc.turn.turn",
    "Verdict": "acc.gate.protocol",
    "aupdate_state": "acc.pipeline.update",
    "default_gate": "acc.gate.built_in",
    "seed": "acc.pipeline.update",
    "update_state": "acc.pipeline.update",
    "wire_schema": "acc.compress.protocol",
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
