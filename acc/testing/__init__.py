"""What users need to test their own parts against the library's."""

from acc.testing.scripted import FailingCompressor, FixedClock, ScriptedCompressor
from acc.testing.store_conformance import check_store

__all__ = ["FailingCompressor", "FixedClock", "ScriptedCompressor", "check_store"]
