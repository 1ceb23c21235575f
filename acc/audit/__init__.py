"""The audit log: one record per commit, its verification, and the redaction of erased evidence."""
