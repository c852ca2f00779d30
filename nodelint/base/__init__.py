"""What every module may use: named tuples, kept values, printable text, the project's address."""
