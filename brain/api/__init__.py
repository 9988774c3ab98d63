"""The parts of the façade `brain.Brain`, each a class over the same session."""
