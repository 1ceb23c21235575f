"""What announces a step, and what says that something is open, as tables."""

from __future__ import annotations

from acc.compressors.rules.words import any_of, one_of

NEXT = any_of(
    r"\bnext(?:,| step| I| up| we)\b|\bI(?:'ll| will| am going to|'m going to)\b",
    r"\b(?:then|after that|afterwards),? (?:I|we)\b|\bwe(?:'ll| will) (?:then|next)\b",
    r"\blet's (?:then|next|start|continue)\b|\bto follow\b|\b\w+ follows\b",
)
"""Announces a step."""

OPEN = any_of(
    r"\b" + one_of(
        """not sure, unsure, unclear, unknown, unconfirmed, undecided, uncertain, tbc, tbd,
        to be (?:confirmed|decided|determined), no idea, hard to say, awaiting, pending, still open,
        waiting (?:for|on), outstanding, remains to be seen, haven't heard, my guess,
        I (?:believe|suspect|guess|assume), no (?:answer|reply|word) (?:yet|so far|from)"""
    ),
    r"\b(?:don't|do not|doesn't|cannot|can't|couldn't) (?:yet )?(?:know|tell|confirm|say)\b",
    r"(?:\bnot|n't) (?:yet )?(?:been )?" + one_of(
        "confirmed, answered, decided, verified, replied, checked, found"
    ),
    r"\bnot yet (?:known|clear|in|here|decided|confirmed)\b",
)  # fmt: skip
"""Says that something is not known or not there yet."""
