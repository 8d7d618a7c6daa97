"""Privacy accounting for any mechanism: cumulants, laws of the privacy loss, profiles, and their composition."""
