"""Automatic augmentation: AutoAugment, RandAugment and TrivialAugment, with DALI's names.

    @pipeline_def(batch_size=32, num_threads=4, enable_conditionals=True)
    def images(root):
        jpegs, labels = fn.readers.file(file_root=root, random_shuffle=True)
        pixels = fn.resize(fn.decoders.image(jpegs), size=(224, 224))
        return rand_augment.rand_augment(pixels, n=2, m=9), labels

Each sample takes augmentations of its own, so the pipeline needs `enable_conditionals=True`.
"""

from __future__ import annotations

from bivouac.auto_aug import augmentations, auto_augment, core, rand_augment, trivial_augment

__all__ = ["augmentations", "auto_augment", "core", "rand_augment", "trivial_augment"]
