"""interop.py write DIR SEED TREES: the libraries write random checkpoints below DIR.
interop.py changed DIR: Orbax reads what Bivouac merged and adopted there.
interop.py read DIR [brief]: they read what Bivouac wrote below DIR and compare every leaf.
interop.py write-pipelines DIR SEED PIPELINES: DALI writes random pipelines, what they deliver and a checkpoint of each.
interop.py read-pipelines DIR: DALI runs those that Bivouac wrote, also from Bivouac's checkpoints.
interop.py write-dynamic DIR SEED PROGRAMS: DALI writes random programs of dynamic mode, what they deliver and a checkpoint of each.
interop.py read-dynamic DIR: DALI goes on from the checkpoints that Bivouac wrote.
interop.py turns DIR SEED PROGRAM: Orbax and Bivouac, the PROGRAM, write to runs and sessions below DIR in turn.
"""

import os
import sys
import warnings

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=8")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("JAX_ENABLE_X64", "1")
warnings.simplefilter("ignore")


def main(command, root, *rest):
    from absl import logging

    logging.set_verbosity(logging.FATAL)
    root = os.path.abspath(root)
    if command == "write":
        import writers

        writers.write(root, *map(int, rest))
        return 0
    if command == "changed":
        import readers

        return 1 if readers.read_changed(root) else 0
    if command == "read":
        import limits
        import readers

        failed = readers.read(root)
        if "brief" not in rest:
            print(limits.table())
        return 1 if failed else 0
    if command == "turns":
        import sessions
        import turns

        seed, program = int(rest[0]), os.path.abspath(rest[1])
        return 1 if turns.play_all(root, seed, program) + sessions.play_all(root, seed, program) else 0
    if command in ("write-pipelines", "read-pipelines"):
        import pipelines

        return 1 if (pipelines.write(root, *map(int, rest)) if rest else pipelines.read(root)) else 0
    if command in ("write-dynamic", "read-dynamic"):
        import dynamic

        return 1 if (dynamic.write(root, *map(int, rest)) if rest else dynamic.read(root)) else 0
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
