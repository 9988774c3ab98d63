"""Three-way merge of the contents of files; pure."""
