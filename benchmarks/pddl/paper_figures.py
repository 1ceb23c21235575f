"""What the paper of Intrinsic Memory Agents measured (Table 1: PDDL, Llama 3.1 8B, one repetition)."""

from __future__ import annotations

TABLE_1: dict[str, tuple[float, int]] = {
    "No Memory": (0.0231, 117_437),
    "G-Memory": (0.0231, 118_316),
    "Generative": (0.0530, 121_105),
    "MemoryBank": (0.0305, 80_599),
    "MetaGPT": (0.0601, 127_860),
    "Voyager": (0.0250, 133_268),
    "ChatDev": (0.0583, 107_043),
    "Intrinsic Memory": (0.0833, 140_418),
}
"""Average reward (the share of the goal reached) and average tokens of a task, by memory."""
