"""Lineages under random work: a plain model beside the real thing, many writers, many texts."""
