"""The inspector: one page over the threads of a memory, live from its journal."""
