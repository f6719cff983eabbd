"""The object graph: contexts, objects, fetches and their results, changes, and undo."""
