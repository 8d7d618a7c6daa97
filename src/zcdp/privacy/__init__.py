"""What follows from a privacy-loss cumulant, whoever supplies it."""
