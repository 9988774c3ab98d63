"""What one can do with a brain: the functions that are the operations of `Brain`."""
