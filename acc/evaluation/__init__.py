"""Evaluation: compares memories on conversations with ground truth and under a live judge.

`acc.evaluation.probe` needs no model: it replays a scenario through a memory and scores the
memory's contents. `acc.evaluation.judge` is the paper's live evaluation, with models.
"""
