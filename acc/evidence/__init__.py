"""What happens to evidence beside a step: erasure, retention, files, upkeep."""
