"""The memory loop on the core and the journal. It takes the place of `acc.controller` when the callers have moved."""
