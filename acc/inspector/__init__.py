"""The inspector: one page over the threads of a memory, live from the audit log or exported as a file."""
