"""Every kind of law under every transformation, against neighbours that are written out."""
