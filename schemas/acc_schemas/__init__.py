"""Domain schemas: one domain's state per file, its JSON Schema beside it, a worked example below `examples`."""
