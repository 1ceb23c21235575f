"""One step, from a state and a turn to the next state, and the drivers' view of it."""
