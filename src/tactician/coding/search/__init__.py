"""Search in the files of a workspace."""
