"""The exact privacy profile of a composition: one engine a file, and the choice between them."""
