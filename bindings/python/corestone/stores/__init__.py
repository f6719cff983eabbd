"""Stores: coordinators, containers, documents, stores written in Python, history, and migrations."""
