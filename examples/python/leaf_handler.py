"""A leaf handler keeps vocabularies beside the arrays of a model.

    python leaf_handler.py DIRECTORY
"""

import dataclasses
import sys

import numpy as np

import bivouac.checkpoint as ocp


class Vocabulary:
    """A leaf of a type of its own."""

    def __init__(self, words):
        self.words = list(words)


@dataclasses.dataclass
class VocabularySize:
    """Describes a vocabulary. A load that asks for it gets that number of words."""

    words: int


class VocabularyHandler:
    """Keeps each vocabulary in a text file of its name."""

    def __init__(self, *, context=None):
        pass

    async def serialize(self, params, serialization_context):
        # The first phase copies: the words may change when save_async has returned.
        texts = {p.name: "\n".join(p.value.words) for p in params}

        async def write():
            directory = await serialization_context.parent_dir.await_creation()
            for name, text in texts.items():
                (directory / f"{name}.txt").write_text(text)

        return write()  # the second phase, in the background

    async def deserialize(self, params, deserialization_context):
        async def read():
            return [self.read(deserialization_context, p) for p in params]

        return read()

    async def metadata(self, params, deserialization_context):
        found = [self.read(deserialization_context, p) for p in params]
        return [VocabularySize(len(v.words)) for v in found]

    def read(self, context, param):
        words = (context.parent_dir / f"{param.name}.txt").read_text().split("\n")
        wanted = getattr(param.value, "words", None)  # None is as it was saved
        return Vocabulary(words[:wanted])


def main(directory):
    leaves = ocp.serialization.StandardLeafHandlerRegistry()
    leaves.add(
        Vocabulary,
        VocabularySize,
        VocabularyHandler,
        secondary_typestrs=["example.Vocabulary"],
    )
    options = ocp.options.PyTreeOptions(leaf_handler_registry=leaves)
    with ocp.Context(pytree_options=options):
        model = {"w": np.ones(2), "source": Vocabulary("abc"), "target": Vocabulary("x")}
        ocp.save(directory, model)
        print(ocp.metadata(directory).metadata["source"])

        wanted = {"w": ocp.PLACEHOLDER, "source": VocabularySize(2), "target": None}
        got = ocp.load(directory, wanted)
        print(got["source"].words, got["target"].words)
    try:
        ocp.load(directory)
    except ValueError as err:
        print("without the handler:", err.want)


if __name__ == "__main__":
    main(sys.argv[1])
