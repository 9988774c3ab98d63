"""Skills: slugs, front matter, versions, documents, the Level-0 index. Pure functions."""
