"""Thresholds: above which confidence answers may be trusted, at a stated risk."""
