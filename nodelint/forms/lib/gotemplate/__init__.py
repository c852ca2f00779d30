"""Evaluate Go templates: their code, and the functions of sprig."""
