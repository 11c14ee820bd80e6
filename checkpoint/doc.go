// Package checkpoint saves and loads trees of tensors.
//
//	err := checkpoint.Save(ctx, "ckpt", &model, nil)        // one line saves
//	err = checkpoint.LoadInto(ctx, "ckpt", &model, nil)     // one line loads
//
//	r, err := checkpoint.SaveAsync(ctx, "ckpt", &model, nil) // returns when the state is copied
//	_, err = r.Result(ctx)                                   // waits until it is durable
//
// A save takes what tree.From takes: nested maps, slices and structs of
// tensors, numeric slices, numbers, strings, bools and nil.
//
// # Files
//
// A checkpoint is a directory that orbax-checkpoint opens as its own: arrays as zarr v3 in an OCDBT
// database, structure and metadata as JSON. Load also reads checkpoints of Orbax. Beside Orbax's
// files there is bivouac.manifest. It holds the size and checksum of every file, of every array and
// of every chunk.
//
// # What is promised
//
// A save becomes visible when it is durable, or never. A failed save leaves the earlier checkpoint
// and returns the reason. A load returns the bytes that were saved, or an error that names file and
// leaf. In checkpoints of Bivouac every byte is checked. In others the load checks what their
// format allows.
//
// # Beside it
//
// Package checkpoint/training keeps the steps of a training run, and package partial saves
// a checkpoint in parts. Package integrity verifies and repairs checkpoints, package diff
// compares them, and package surgery has rules for LoadAndTransform. Package options has
// the options, with the layouts and compressions.
package checkpoint
