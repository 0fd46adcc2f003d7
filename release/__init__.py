"""What leaves the house: the lock file, the licences of what it names, and the container image."""
