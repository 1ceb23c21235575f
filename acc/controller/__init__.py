"""The memory loop on the core and the journal."""
