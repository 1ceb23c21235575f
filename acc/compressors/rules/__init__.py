"""The keyless compressor: English operational conversation, read offline."""

from acc.compressors.rules.compressor import RuleCompressor as RuleCompressor

__all__ = ["RuleCompressor"]
