"""Campaigns over folders of real data, which are not part of the project."""
