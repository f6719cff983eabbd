"""The room of the object graph: contexts, objects, fetches and their results, changes, and undo."""
