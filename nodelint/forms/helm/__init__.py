"""Helm: charts, their values, and releases of them."""
