"""What happens to evidence beside a step: erasure, retention, documents, moving, upkeep."""
