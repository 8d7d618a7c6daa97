"""Local randomizers, which clients run on their own value, one file each, and what they share."""
