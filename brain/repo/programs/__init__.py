"""Admit, reject, retire and reinstate the programs of skills."""
