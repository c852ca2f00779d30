"""Provide code that several forms share: rendered texts and helpers for values."""
