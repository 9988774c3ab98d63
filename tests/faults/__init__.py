"""What faults do to a brain: kills, errors, limits, full disks, power cuts."""
