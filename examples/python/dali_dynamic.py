"""Programs of DALI's dynamic mode, with only the import changed.

The page docs/guide/python-dynamic.md shows the regions of this file, and the tests run them.
"""


def training(root, step):
    # begin training
    import bivouac.dynamic as ndd

    reader = ndd.readers.File(file_root=root, random_shuffle=True, seed=7)
    for jpegs, labels in reader.next_epoch(batch_size=8):
        images = ndd.decoders.image(jpegs)
        images = ndd.resize(images, size=[32, 32])
        images = ndd.flip(images, horizontal=ndd.random.coin_flip(batch_size=8))
        step(ndd.tensor(images), labels)
    # end


def values():
    # begin values
    import numpy as np

    import bivouac.dynamic as ndd

    picture = ndd.tensor(np.zeros((4, 6, 3), np.uint8), layout="HWC")
    brighter = picture + 40
    corner = brighter[:2, :2, 0]
    print(corner.shape, corner.dtype, np.asarray(corner).max())

    several = ndd.batch([np.ones((2, 3), np.float32), np.ones((5, 1), np.float32)])
    sums = ndd.reductions.sum(several, axes=[0, 1])
    print([sample.item() for sample in sums])
    # end
    return corner, sums


def mistakes():
    # begin mistakes
    import bivouac.dynamic as ndd

    small = ndd.tensor([[1, 2], [3, 4]])
    wrong = ndd.crop(small, crop=[8, 8])  # nothing is raised here
    try:
        wrong.evaluate()
    except RuntimeError as error:
        text = str(error)  # names this file and the line of the crop

    with ndd.EvalMode.sync_cpu:  # computed before each call returns
        right = ndd.transpose(small, perm=[1, 0])
    # end
    return text, right


def resumed(root, pattern):
    # begin resumed
    import bivouac.dynamic as ndd

    def objects(checkpoint):
        reader = ndd.readers.File(file_root=root, random_shuffle=True, seed=7)
        rng = ndd.random.RNG(seed=42)
        checkpoint.register(reader, "reader")
        checkpoint.register(rng, "rng")
        return reader, rng

    first = ndd.checkpoint.Checkpoint()
    reader, rng = objects(first)
    batches = reader.next_epoch(batch_size=4)
    next(batches)
    rng()
    first.collect()
    first.save(pattern)  # "run/state_{seq:04d}.json"
    following = next(batches), rng()

    again = ndd.checkpoint.Checkpoint()
    again.load(pattern)
    reader, rng = objects(again)
    same = next(reader.next_epoch(batch_size=4)), rng()
    # end
    return following, same
