"""Reviews: gates at which people decide, and the reviewers of the program."""
