"""The reference implementations of the families, on NumPy arrays. Imported when they are needed."""
