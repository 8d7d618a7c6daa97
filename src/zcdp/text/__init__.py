"""Words and digits for people: rounding, names, tables and error messages. It imports no other room but `errors`."""
