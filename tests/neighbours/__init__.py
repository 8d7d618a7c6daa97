"""True neighbours: output laws from the definitions of the mechanisms, against which every reported number is held."""
