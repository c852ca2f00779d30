"""What several forms share: texts with values filled in, and helpers over values."""
