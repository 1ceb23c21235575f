"""A thread: its log, its branches, who steps a turn, and what operators did in it."""
