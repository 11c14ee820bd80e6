// Package partial saves a checkpoint in parts: layer by layer, or as the pieces of
// a state become ready.
//
//	err := partial.Save(ctx, "ckpt", map[string]any{"encoder": encoder}, nil)
//	err = partial.Save(ctx, "ckpt", map[string]any{"decoder": decoder}, nil)
//	err = partial.Finalize(ctx, "ckpt", nil)     // now, and at once, "ckpt" is there
//
// Each save is atomic. After a crash the session holds the parts whose saves had returned, and
// perhaps one more. No part is torn. The checkpoint appears with Finalize, whole or not at all. It
// links the data files of the parts.
//
// A session is a directory beside its checkpoint, ckpt.partial_save, in the form of Orbax. Bivouac
// continues and finalizes a session that Orbax began, and the reverse. A part adds leaves. A leaf
// that exists already is refused; SaveOptions.Replace replaces it. Orbax cannot finalize replaced
// leaves, removed leaves, and strings in several parts. It refuses such a session before it touches
// a file.
//
// To add to a finished checkpoint, see checkpoint.SaveOptions.PartialUpdate.
package partial
