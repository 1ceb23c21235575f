"""A thread: its log, its branches, the claims on its turns, and its operators' acts."""
