"""Bridges to other DP libraries, one module or package each. Nothing else imports them; each needs its library."""
