"""Planning tasks with memories of few tokens, after the PDDL experiment of Intrinsic Memory Agents."""
