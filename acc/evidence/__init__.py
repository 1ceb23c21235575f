"""Evidence upkeep: addition, retention, deletion and erasure."""
