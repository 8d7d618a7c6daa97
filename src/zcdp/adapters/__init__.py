"""Bridges into other systems, one a file; nothing else imports them, and each needs the system it is for."""
