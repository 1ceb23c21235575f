"""Evaluation: compares memories on conversations with ground truth and under a live judge.

`acc_eval.probe` needs no model: it replays a scenario through a memory and scores the
memory's contents. `acc_eval.judge` is the paper's live evaluation, with models.
"""
