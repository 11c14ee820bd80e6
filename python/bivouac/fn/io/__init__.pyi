# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac.fn.io import file as file
