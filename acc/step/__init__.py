"""One step without a store: a state, a turn and a compressor make the next state."""
