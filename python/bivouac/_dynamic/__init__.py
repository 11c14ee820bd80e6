"""The inside of `bivouac.dynamic`: values and calls of operators."""
