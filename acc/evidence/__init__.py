"""Evidence that stays useful: what is kept, what is forgotten, and how it is erased."""
