"""DALI's side of the cases of automatic augmentation: the graphs of augment.go."""
import numpy as np


def square():
    y, x, c = np.meshgrid(np.arange(224), np.arange(224), np.arange(3), indexing="ij")
    return ((x + y * (c + 1) // 2 + (x * 7 ^ y * 5) % 32) & 255).astype(np.uint8)


CASES = ("rand-augment", "trivial-augment", "auto-augment")


def pipe(case, threads, batch):
    """A pipeline with conditionals, of which auto_aug is made."""
    from nvidia.dali import fn, pipeline_def
    from nvidia.dali.auto_aug import auto_augment, rand_augment, trivial_augment

    samples = [square()] * batch

    @pipeline_def(batch_size=batch, num_threads=threads, device_id=None, seed=1, enable_conditionals=True)
    def made():
        images = fn.external_source(source=lambda: samples, batch=True, no_copy=True, layout="HWC")
        if case == "rand-augment":
            return rand_augment.rand_augment(images, n=2, m=9)
        if case == "trivial-augment":
            return trivial_augment.trivial_augment_wide(images)
        return auto_augment.auto_augment(images)

    return made()
