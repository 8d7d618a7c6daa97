"""What a person writes: plans as text, as JSON, as TOML files with a budget, as CSV lists of releases."""
