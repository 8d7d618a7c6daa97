"""How numbers, names and refusals are written for people; every room uses it, and it knows none of them."""
