"""What one can do with a brain, an action a module. The façade `brain.Brain` calls them."""
