"""What the tests hold zcdp against: laws, integrals and sums written down anew, which know nothing of zcdp."""
