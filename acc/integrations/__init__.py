"""The memory in LangGraph's graphs and LangChain's agents."""
