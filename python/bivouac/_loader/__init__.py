"""Loaders of definitions: see bivouac.Loader and bivouac.grain."""
