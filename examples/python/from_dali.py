"""Scripts of DALI before and after a move.

The page docs/guide/moving-from-dali.md shows the regions of this file. The tests run them with
Bivouac, and with DALI too where it is installed.
"""


def names_before():
    # begin before
    from nvidia.dali import fn, pipeline_def, types
    from nvidia.dali.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy
    # end
    return fn, pipeline_def, types, DALIClassificationIterator, LastBatchPolicy


def names_after():
    # begin after
    from bivouac import fn, pipeline_def, types
    from bivouac.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy
    # end
    return fn, pipeline_def, types, DALIClassificationIterator, LastBatchPolicy


def resnet_train(fn, pipeline_def, types, folder, shard=0, shards=1):
    # begin resnet train
    @pipeline_def(batch_size=8, num_threads=2, device_id=None, seed=12)
    def train():
        jpegs, labels = fn.readers.file(
            file_root=folder, random_shuffle=True, shard_id=shard, num_shards=shards, name="Reader"
        )
        images = fn.decoders.image_random_crop(
            jpegs, random_aspect_ratio=[0.75, 4.0 / 3.0], random_area=[0.08, 1.0]
        )
        images = fn.resize(images, size=[64, 64], interp_type=types.INTERP_LINEAR)
        images = fn.crop_mirror_normalize(
            images,
            mirror=fn.random.coin_flip(probability=0.5),
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
            std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        )
        return images, labels
    # end
    return train()


def resnet_validate(fn, pipeline_def, types, folder):
    # begin resnet validate
    @pipeline_def(batch_size=8, num_threads=2, device_id=None)
    def validate():
        jpegs, labels = fn.readers.file(file_root=folder, pad_last_batch=True, name="Reader")
        images = fn.decoders.image(jpegs)
        images = fn.resize(images, resize_shorter=72)
        images = fn.crop_mirror_normalize(
            images,
            crop=(64, 64),
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[0.485 * 255, 0.456 * 255, 0.406 * 255],
            std=[0.229 * 255, 0.224 * 255, 0.225 * 255],
        )
        return images, labels
    # end
    return validate()


def augmented(fn, pipeline_def, rand_augment, folder):
    # begin augmented
    @pipeline_def(
        batch_size=8, num_threads=2, device_id=None, seed=12, enable_conditionals=True
    )
    def augment():
        jpegs, labels = fn.readers.file(file_root=folder, random_shuffle=True, name="Reader")
        images = fn.resize(fn.decoders.image(jpegs), size=[64, 64])
        return rand_augment.rand_augment(images, n=2, m=17), labels
    # end
    return augment()


def ssd(fn, pipeline_def, types, folder, annotations, anchors):
    # begin ssd
    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=12)
    def detect():
        jpegs, boxes, labels = fn.readers.coco(
            file_root=folder, annotations_file=annotations, ratio=True, ltrb=True, name="Reader"
        )
        images = fn.decoders.image(jpegs)
        begin, size, boxes, labels = fn.random_bbox_crop(
            boxes,
            labels,
            aspect_ratio=[0.5, 2.0],
            thresholds=[0, 0.1, 0.3, 0.5, 0.7, 0.9],
            scaling=[0.3, 1.0],
            bbox_layout="xyXY",
            allow_no_crop=True,
            num_attempts=50,
        )
        images = fn.slice(images, begin, size)
        images = fn.resize(images, resize_x=60, resize_y=60)
        mirror = fn.random.coin_flip(probability=0.5)
        images = fn.crop_mirror_normalize(images, mirror=mirror, dtype=types.FLOAT)
        boxes = fn.bb_flip(boxes, ltrb=True, horizontal=mirror)
        boxes, labels = fn.box_encoder(boxes, labels, criteria=0.5, anchors=anchors)
        return images, boxes, labels
    # end
    return detect()


def jasper(fn, pipeline_def, types, folder):
    # begin jasper
    @pipeline_def(batch_size=4, num_threads=2, device_id=None, seed=12)
    def speech():
        data, label = fn.readers.file(file_root=folder, random_shuffle=True, name="Reader")
        sound, rate = fn.decoders.audio(data, dtype=types.FLOAT, downmix=True)
        sound = fn.preemphasis_filter(sound, preemph_coeff=0.97)
        power = fn.spectrogram(sound, nfft=512, window_length=320, window_step=160)
        mel = fn.mel_filter_bank(power, sample_rate=16000, nfilter=64, freq_high=8000.0)
        logs = fn.to_decibels(mel, multiplier=10.0, cutoff_db=-80.0)
        logs = fn.normalize(logs, axes=[1])
        return fn.pad(logs, axes=[1], align=16, fill_value=0), label
    # end
    return speech()


def video(fn, pipeline_def, types, files):
    # begin video
    @pipeline_def(batch_size=2, num_threads=2, device_id=None, seed=12)
    def clips():
        frames = fn.experimental.readers.video(
            filenames=files, sequence_length=4, stride=2, random_shuffle=True, name="Reader"
        )
        return fn.crop_mirror_normalize(
            frames, crop=(32, 32), dtype=types.FLOAT, output_layout="FCHW"
        )
    # end
    return clips()


def loop(pipe, step):
    # begin loop
    import bivouac

    loader = bivouac.Loader(pipe, names=["image", "label"], last_batch="partial")
    for batch in loader:
        step(batch["image"], batch["label"])
    # end
    return loader


def resumed(loader, pipe):
    # begin resumed
    import bivouac

    state = loader.state_dict()  # JSON, of the batch in hand
    again = bivouac.Loader(pipe, names=["image", "label"], last_batch="partial")
    again.load_state_dict(state)
    # end
    return again


def from_yaml(path):
    # begin yaml
    import bivouac

    with bivouac.Loader(path, rank=0, world=1) as loader:
        for batch in loader:
            tensors = batch.torch()
    # end
    return tensors


def in_grain(path):
    # begin grain
    import bivouac

    batches = iter(bivouac.grain.IterDataset(path, epochs=2))
    first = next(batches)
    # end
    return batches, first
