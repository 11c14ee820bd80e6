# Generated from the schemas by go generate ./pipeline/fn; do not edit.

from bivouac.ops.io import file as file
