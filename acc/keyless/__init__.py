"""The keyless compressor: rules for English operational conversation, without a model."""
