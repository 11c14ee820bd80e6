"""The console script `bivouac`, which becomes the Go command of the wheel."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn


def command() -> str:
    """Return the path of the Go command: BIVOUAC_BINARY, or the one of the wheel."""
    inside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "bivouac")
    return os.environ.get("BIVOUAC_BINARY") or inside


def main() -> NoReturn:
    """Replace this process by the command. The arguments and the environment stay."""
    # Python ignores these two at its start, and a program that is executed would inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    path = command()
    try:
        os.execv(path, ["bivouac", *sys.argv[1:]])
    except OSError as e:
        sys.exit(
            f"bivouac: {path}: want the Go command, got {e.strerror} "
            "(install the wheel again, or set BIVOUAC_BINARY to the command)"
        )
