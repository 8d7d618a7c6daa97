"""The law of the privacy loss: what the exact profile needs to know of a mechanism; one kind of law a file."""
