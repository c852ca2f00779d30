"""Go templates: their code, the functions of sprig, and what they come to with values."""
