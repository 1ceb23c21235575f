"""What a memory works with, beside its store and its compressor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from acc.clock import Clock, SystemClock
from acc.fallback import Fallback
from acc.gate import GateLike
from acc.gates import default_gate
from acc.named_settings import settings_of
from acc.policy import Policy
from acc.recall import Recall


@dataclass
class Settings:
    """What a memory works with, beside store and compressor.

    Attributes:
        policy: Schema and bounds.
        recall: Proposes candidates.
        gate: Qualifies them.
        floor: Candidates admitted at a lower relevance threshold, if fewer pass.
        fallback: Whom to turn to when the compressor fails: "items" (None too) holds the last good
            items, "rules" asks the keyless rules; or a compressor.
        audit: Folder of the audit logs; None keeps none.
        input_chars: Characters of a turn that a compressor reads.
        clock: Tells the time.
    """

    policy: Policy = field(default_factory=Policy)
    recall: Recall = field(default_factory=Recall)
    gate: GateLike = field(default_factory=default_gate)
    floor: int = 0
    fallback: Fallback = None
    audit: Path | None = None
    input_chars: int = 16_000
    clock: Clock = field(default_factory=SystemClock)


def settings_with(changed: Mapping[str, Any], base: Settings | None = None) -> Settings:
    """``base``, or the default settings, with what is ``changed`` by name.

    Raises:
        ConfigurationError: No such setting.
    """
    mend = "the bound and the schema are the policy's: policy=Policy(max_tokens=...)"
    named = settings_of(Settings, changed, mend)
    return named if base is None else replace(base, **changed)
