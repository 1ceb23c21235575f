"""The compressor and the judge without a model: English, offline, deterministic."""
