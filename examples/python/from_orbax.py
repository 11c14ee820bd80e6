"""What changes in a program that keeps its checkpoints with Orbax.

The page docs/guide/moving-from-orbax.md shows the regions of this file. The tests run each
pair, and let each package read what the other one wrote.
"""


def v1_before(path, state):
    # begin v1 before
    from orbax.checkpoint import v1 as ocp

    ocp.save(path, state)
    restored = ocp.load(path, state)
    # end
    return restored


def v1_after(path, state):
    # begin v1 after
    import bivouac.checkpoint as ocp

    ocp.save(path, state)
    restored = ocp.load(path, state)
    # end
    return restored


def manager_before(directory, state, steps):
    import orbax.checkpoint as ocp

    # begin manager before
    options = ocp.CheckpointManagerOptions(max_to_keep=3, save_interval_steps=10)
    with ocp.CheckpointManager(directory, options=options) as manager:
        for step in range(steps):
            manager.save(step, args=ocp.args.StandardSave(state))
    # end


def manager_after(directory, state, steps):
    from bivouac.checkpoint import training

    # begin manager after
    keep = training.preservation_policies.LatestN(3)
    every = training.save_decision_policies.FixedIntervalPolicy(10)
    with training.Checkpointer(
        directory, preservation_policy=keep, save_decision_policy=every
    ) as run:
        for step in range(steps):
            run.save_async(step, state, checkpointable_name="default")
    # end


def latest_before(directory, state):
    import orbax.checkpoint as ocp

    # begin latest before
    with ocp.CheckpointManager(directory) as manager:
        step = manager.latest_step()
        restored = manager.restore(step, args=ocp.args.StandardRestore(state))
    # end
    return step, restored


def latest_after(directory, state):
    from bivouac.checkpoint import training

    # begin latest after
    with training.Checkpointer(directory) as run:
        step = run.latest.step
        restored = run.load(step, state, checkpointable_name="default")
    # end
    return step, restored


def loop_before(directory, loader, state, train, steps):
    import orbax.checkpoint as ocp

    # begin loop before
    with ocp.CheckpointManager(directory) as manager:
        if (step := manager.latest_step()) is not None:
            saved = manager.restore(
                step,
                args=ocp.args.Composite(
                    state=ocp.args.StandardRestore(state), data=ocp.args.JsonRestore()
                ),
            )
            state = saved["state"]
            loader.load_state_dict(saved["data"])
        step = step or 0
        while step < steps:
            for batch in loader:
                state = train(state, batch)
                step += 1
                manager.save(
                    step,
                    args=ocp.args.Composite(
                        state=ocp.args.StandardSave(state),
                        data=ocp.args.JsonSave(loader.state_dict()),
                    ),
                )
                if step == steps:
                    break
    # end
    return state


def loop_after(directory, loader, state, train, steps):
    import bivouac as bv

    # begin loop after
    with bv.Job(directory, loader, state, steps=steps, save_every=1) as job:
        for batch in job:
            job.state = train(job.state, batch)
    # end
    return job.state


def errors_after(path, abstract):
    import bivouac.checkpoint as ocp

    # begin errors
    from bivouac import errors

    try:
        return ocp.load(path, abstract)
    except errors.Corrupt as err:  # bytes are damaged; it is a ValueError too
        print(err)
    except errors.Mismatch as err:  # a leaf has another shape, dtype or name
        print(err.want, err.got)
    # end
    return None
