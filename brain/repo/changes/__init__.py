"""Recording, restoring, undoing, editing, importing and erasing content."""
