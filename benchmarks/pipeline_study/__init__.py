"""The data-pipeline case study of Intrinsic Memory Agents (arXiv 2508.08997), with agents by rule or by model."""
