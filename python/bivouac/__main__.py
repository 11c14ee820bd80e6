"""`python -m bivouac` is the command `bivouac`."""

from bivouac._cli import main

main()
