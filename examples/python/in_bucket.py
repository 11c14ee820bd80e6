"""What changes in a program whose checkpoints are in a bucket.

The page docs/guide/many-machines.md shows the regions of this file, and the tests run them against
a real server.
"""


def checkpoints(url, state):
    # begin checkpoints
    import bivouac.checkpoint as ocp

    ocp.save(f"{url}/start", state)  # s3://bucket/runs/7/start
    state = ocp.load(f"{url}/start")

    with ocp.training.Checkpointer(f"{url}/steps") as run:
        run.save_async(100, state)
    # end
    return state


def tiers(directory, url, loader, state, train):
    # begin tiers
    import bivouac as bv
    from bivouac.checkpoint.training import Tier, Uploads, preservation_policies
    from bivouac.checkpoint.training.save_decision_policies import FixedIntervalPolicy

    bucket = Tier(
        directory=url,  # s3://bucket/runs/7
        save_decision_policy=FixedIntervalPolicy(1000),
        preservation_policy=preservation_policies.LatestN(10),
    )
    with bv.Job(
        directory,  # on the disk: every 100 steps, the newest 3 stay
        loader,
        state,
        save_every=100,
        keep=3,
        tiers=[bucket],
        uploads=Uploads(rate=200 << 20),  # at most 200 MiB a second
    ) as job:
        for batch in job:
            train(state, batch)
    # end
    return job
