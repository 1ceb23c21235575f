"""The audit log: a record for each commit, its verification, and the removal of what was erased."""
