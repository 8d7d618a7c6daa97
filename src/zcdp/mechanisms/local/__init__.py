"""Local randomizers (local differential privacy): each client runs one on its own value. One file each."""
