"""What changes in a program that reads its data with torchdata.

The page docs/guide/moving-from-torchdata.md shows the regions of this file. The tests run each
pair, and let each package go on from the states of the other one.
"""


def loader_before(dataset):
    # begin loader before
    from torchdata.stateful_dataloader import StatefulDataLoader

    loader = StatefulDataLoader(dataset, batch_size=4, shuffle=True, num_workers=2)
    # end
    return loader


def loader_after(dataset):
    # begin loader after
    from bivouac.torch import StatefulDataLoader

    loader = StatefulDataLoader(dataset, batch_size=4, shuffle=True, num_workers=2)
    # end
    return loader


def saved_before(path, loader, model):
    # begin saved before
    import torch

    torch.save({"model": model.state_dict(), "loader": loader.state_dict()}, path)
    # end


def loaded_before(path, loader, model):
    import torch

    # begin loaded before
    saved = torch.load(path)
    model.load_state_dict(saved["model"])
    loader.load_state_dict(saved["loader"])
    # end


def saved_after(directory, loader, model, optimizer, train, steps):
    # begin saved after
    import bivouac as bv

    state = {"model": model, "optimizer": optimizer}
    with bv.Job(directory, loader, state, steps=steps, save_every=100) as job:
        for batch in job:
            train(model, optimizer, batch)
    # end
    return job


def ranks(dataset, rank, world):
    # begin ranks
    from bivouac.torch import StatefulDataLoader, StatefulDistributedSampler

    sampler = StatefulDistributedSampler(dataset, num_replicas=world, rank=rank, seed=3)
    loader = StatefulDataLoader(dataset, batch_size=4, sampler=sampler)
    # end
    return loader


def nodes(sampler, read):
    # begin nodes
    from bivouac.torch.nodes import Batcher, Loader, ParallelMapper, Prefetcher, SamplerWrapper

    node = SamplerWrapper(sampler)
    node = ParallelMapper(node, read, num_workers=4, method="process")
    node = Prefetcher(Batcher(node, 32), prefetch_factor=4)
    loader = Loader(node)
    # end
    return loader
