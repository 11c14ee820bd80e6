"""Graphs of data pipelines, built in Python and run by the side-car.

The public names are in `bivouac`, `bivouac.fn`, `bivouac.ops`, `bivouac.types` and `bivouac.math`.
"""
