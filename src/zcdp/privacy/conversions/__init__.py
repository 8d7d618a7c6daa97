"""From one description of privacy to another: one arrow a file, named <from>_to_<to>, and the best of all routes."""
