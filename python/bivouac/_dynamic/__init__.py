"""The inside of `bivouac.dynamic`: values, calls of operators, and what they have in the side-car."""
