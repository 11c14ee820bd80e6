// Package transfer copies checkpoints from one store to another, byte for byte. `bivouac cp`,
// `bivouac sync` and the tiers of package checkpoint/training work by it.
//
//	t, err := transfer.New(ctx, src, dst, files, nil)
//	…
//	err = t.Run(ctx)
//
// A copy is written in one transaction. It appears under its name when it is whole, and what makes
// a checkpoint whole is written last. With [Options.Check] the bytes are compared with the manifest
// of the source while they are read, and the copy is read back before it appears.
//
// A [Budget] bounds the bytes that are sent in a second, and the bytes that are in memory at once.
// Several transfers may share one.
package transfer
