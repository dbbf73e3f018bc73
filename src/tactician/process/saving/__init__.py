"""A process as data: its state, options and objects, in its checkpoint and back."""
