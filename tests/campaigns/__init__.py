"""What takes minutes, and figures over folders of real data that are not part of the project."""
