"""Lineages under random work, compared with a plain model: many writers, many texts."""
