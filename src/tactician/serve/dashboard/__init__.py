"""Dashboard of a platform for browsers: files that `make ui` builds from the folder `dashboard` of the repository."""
