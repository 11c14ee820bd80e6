"""Pipelines of DALI, with only the import changed.

The page docs/guide/python-pipelines.md shows the regions of this file, and the tests run them.
"""


def training(files):
    # begin training
    from bivouac import fn, pipeline_def, types

    @pipeline_def(batch_size=8, num_threads=2, seed=7, enable_checkpointing=True)
    def train():
        jpegs, labels = fn.readers.file(file_root=files, random_shuffle=True, name="files")
        images = fn.decoders.image_random_crop(jpegs)
        images = fn.resize(images, size=(32, 32))
        images = fn.crop_mirror_normalize(
            images,
            mirror=fn.random.coin_flip(),
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[124.0, 116.0, 104.0],
            std=[58.0, 57.0, 57.0],
        )
        return images, labels

    pipe = train()
    images, labels = pipe.run()
    # end
    return train, pipe, images, labels


def torch_loop(train, step):
    # begin torch
    from bivouac.plugin.pytorch import DALIGenericIterator, LastBatchPolicy

    batches = DALIGenericIterator(
        train(),
        ["image", "label"],
        reader_name="files",
        last_batch_policy=LastBatchPolicy.PARTIAL,
        auto_reset=True,
    )
    for epoch in range(2):
        for (batch,) in batches:
            step(batch["image"], batch["label"])
    # end


def resumed(train, pipe):
    # begin resumed
    state = pipe.checkpoint()
    following = pipe.run()

    again = train(checkpoint=state)
    same = again.run()
    # end
    return following, same


def own_data():
    # begin own data
    import numpy as np

    from bivouac import fn, pipeline_def

    def sample(info):
        if info.iteration == 10:
            raise StopIteration
        return np.full((1 + info.idx_in_batch, 2), info.idx_in_epoch, np.float32)

    @pipeline_def(batch_size=4, num_threads=1)
    def of_arrays():
        return fn.external_source(source=sample, batch=False) / 2

    pipe = of_arrays()
    (batch,) = pipe.run()
    arrays = batch.views()
    elements, offsets = batch.flat()
    # end
    return arrays, elements, offsets


def in_workers(paths):
    # begin in workers
    import numpy as np

    from bivouac import fn, pipeline_def

    def load(info):
        if info.idx_in_epoch >= len(paths):
            raise StopIteration
        return np.load(paths[info.idx_in_epoch])

    @pipeline_def(batch_size=4, num_threads=1, py_num_workers=2)
    def loaded():
        return fn.external_source(source=load, parallel=True, batch=False, prefetch_queue_depth=2)

    pipe = loaded()
    (batch,) = pipe.run()
    # end
    return pipe, batch


def own_functions(files):
    # begin own functions
    import numpy as np

    from bivouac import fn, pipeline_def

    def edges(image):
        return np.abs(np.diff(image.astype(np.int16), axis=0)), image.mean()[None]

    @pipeline_def(batch_size=8, num_threads=2, seed=1)
    def of_functions():
        jpegs, labels = fn.readers.file(file_root=files)
        images = fn.decoders.image(jpegs)
        borders, brightness = fn.python_function(images, function=edges, num_outputs=2)
        return fn.resize(borders, size=(32, 32)), brightness, labels

    pipe = of_functions()
    borders, brightness, labels = pipe.run()
    # end
    return borders, brightness, labels


def debug(files):
    # begin debug
    from bivouac import fn
    from bivouac.pipeline.experimental import pipeline_def

    @pipeline_def(batch_size=4, num_threads=1, seed=1, debug=True)
    def looked_at():
        jpegs, _ = fn.readers.file(file_root=files, random_shuffle=True)
        images = fn.decoders.image(jpegs)
        print(images.shape(), images.get().at(0).mean())
        return fn.resize(images, size=(32, 32))

    pipe = looked_at()
    (images,) = pipe.run()
    # end
    return images


def conditions(files):
    # begin conditions
    from bivouac import fn, pipeline_def

    @pipeline_def(batch_size=8, num_threads=2, seed=1, enable_conditionals=True)
    def rotated():
        jpegs, _ = fn.readers.file(file_root=files)
        images = fn.decoders.image(jpegs)
        if fn.random.coin_flip(probability=0.25):
            images = fn.rotate(images, angle=fn.random.uniform(range=[-10, 10]))
        return images

    (images,) = rotated().run()
    # end
    return images
