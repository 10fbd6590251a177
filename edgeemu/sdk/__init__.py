"""What actor code imports."""
