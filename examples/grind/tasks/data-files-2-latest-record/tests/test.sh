#!/bin/bash
exec python3 -I -S /tests/check.py
