"""Backends of `acc.store.ArtifactStore`; each proves itself by `acc.testing.check_store`."""
