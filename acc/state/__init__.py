"""The Compressed Cognitive State: slots, items, declaration, loading, migrations, policy, rendering."""
