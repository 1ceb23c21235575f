"""Boards: what several agents share.

    board = Board("incident-42")
    shared = BoardMemory(memory, board)
    shared.step(None, Turn.said("Never restart db-2."), thread=ThreadKey("t1", agent="triage"), to="all")
    print(shared.step(None, Turn.said("Where are we?"), thread=ThreadKey("t2", agent="fixer")).text())

A board is a thread of the memory with states, a chain of hashes, bounds and a journal of its own. It holds rules in
people's own sentences. What an agent compresses stays its own, unless somebody said a rule to all: the operator, or
the user where the caller (``to="all"``) or the user's own words say so. Then the whole sentence goes to the board under
its speaker's name, and leaves the agent's own state: there is one of it. What a model calls private stays where it is,
whoever else says to share it.
"""
