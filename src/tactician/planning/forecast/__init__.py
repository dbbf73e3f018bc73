"""What plans are expected to take: seconds, dollars and the chance of success, from what actions took before."""
