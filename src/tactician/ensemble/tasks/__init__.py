"""Tasks: what they are, how they ask models, and what is drawn of them."""
