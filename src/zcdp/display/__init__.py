"""How numbers and names are shown to people: one rule for terminal, page and notebook."""
