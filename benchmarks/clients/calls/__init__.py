"""One call to a model each, whole and streamed, without an agent around it."""
