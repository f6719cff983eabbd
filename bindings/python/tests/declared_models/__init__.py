"""Source models of the fixtures, written as classes: one module for each model, with its path in SOURCE."""
