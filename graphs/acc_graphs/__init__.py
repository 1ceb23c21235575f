"""Reference graphs: LangGraph agents with the memory in front."""
