"""Local collection as a whole: which design to choose for a budget, and what it gives."""
