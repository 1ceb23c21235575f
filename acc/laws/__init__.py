"""What `acc.commit` is made of: one file a law, or a group of laws that belong together.

reasons.py      the codes by which commit says what it did
draft.py        the next state while it is being made
integrity.py    laws 5 and 6: citations, channels, trust
proposals.py    laws 4 to 6: which proposed items are written, and with what standing
pinning.py      laws 6 and 7: making, carrying on and retiring rules and goals
bounds.py       laws 3 and 7: places, tokens, eviction, overflow
held.py         law 9: a failed compression
"""
