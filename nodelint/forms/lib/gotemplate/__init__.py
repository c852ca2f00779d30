"""Templates of Helm: their code, their functions, and what they come to with the values of a chart."""
