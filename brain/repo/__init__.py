"""The operations on a brain, in one folder per task of the user."""
