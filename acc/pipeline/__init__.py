"""The stages of one turn, the settings of a memory, and the state update without a store."""
