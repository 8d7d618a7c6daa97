"""From a table to noisy tables: what is accounted is what is run."""
