"""Detection of projects: which build systems a repository has, and the commands that follow."""
