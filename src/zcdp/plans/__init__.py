"""Plans as people write them: as an expression, as JSON, as a TOML file with a budget, as a CSV list of releases."""
