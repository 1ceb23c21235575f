"""The experiments of arXiv 2505.16067, with simulated agents."""
