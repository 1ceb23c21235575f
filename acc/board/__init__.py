"""Boards: what several agents share.

    board = Board("incident-42", share="rules")
    shared = BoardMemory(memory, board)
    shared.step(None, Turn.said("Never restart db-2."), thread=ThreadKey("t1", agent="triage"), to="all")
    print(shared.step(None, Turn.said("Where are we?"), thread=ThreadKey("t2", agent="fixer")).text())

A board is a thread of the memory with states, a chain of hashes, bounds and a journal of its own. What an agent
compresses stays its own, unless somebody said it to all: the operator, the user where the caller says so
(``to="all"``) or where the user's own words say so, as a model quotes them, or the deployer's filter (`Board.allow`).
Then the whole sentence goes to the board under its speaker's name, and leaves the agent's own state: there is one of
it. What a model calls private stays where it is, whoever else says to share it.

board.py     `Board`: which thread, what is shared
origins.py   whose words a message of a board holds
batch.py     what an agent's commits made, as its journal has it
marks.py     what a listener says of single sentences: private, or said to all
listener.py  who listens: a model, a function, the keyless rules
hearing.py   what the user's words mean for the board's own rules
judging.py   a second reading of what is said to end a rule of the board
choosing.py  what may be shared, and why
delivery.py  the board's turn and proposal
writing.py   commit them by compare-and-swap
sharing.py   the whole way, written once for threads and event loops
memory.py    `BoardMemory`, `AsyncBoardMemory`
shown.py     what the agent reads
context.py   Algorithms 1 and 2 of the paper on role memories
roles.py     `Role`, `RoleMemory`: a thread for each role, with a board between
"""
