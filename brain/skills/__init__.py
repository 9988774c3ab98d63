"""Skills: slugs, front matter, versions, documents, the Level-0 index. Pure functions."""

SKILLS_SECTION = "skills"
"""The top-level folder of the skills."""
