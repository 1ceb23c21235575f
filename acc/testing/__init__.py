"""Tools to test your own compressors, stores and agents with the library."""

from acc.testing.chat_api import FAULTS, Fault, Message, Reply, Request
from acc.testing.journal_conformance import check_journal
from acc.testing.model_server import ModelServer
from acc.testing.scripted import FixedClock, ScriptedCompressor

__all__ = [
    "FAULTS",
    "Fault",
    "FixedClock",
    "Message",
    "ModelServer",
    "Reply",
    "Request",
    "ScriptedCompressor",
    "check_journal",
]
