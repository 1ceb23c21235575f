"""The keyless compressor: plain cues for English operational conversation."""

from acc.compressors.rules.compressor import RuleCompressor as RuleCompressor

__all__ = ["RuleCompressor"]
