"""The Compressed Cognitive State: slots, items, policy, rendering, proposals, reasons."""
