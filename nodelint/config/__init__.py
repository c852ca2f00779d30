"""The configuration of a run: settings of the file and of options, and everything that follows from them."""
