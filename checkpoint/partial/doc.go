// Package partial saves a checkpoint in parts: layer by layer, or as the pieces of
// a state become ready.
//
//	err := partial.Save(ctx, "ckpt", map[string]any{"encoder": encoder}, nil)
//	err = partial.Save(ctx, "ckpt", map[string]any{"decoder": decoder}, nil)
//	err = partial.Finalize(ctx, "ckpt", nil)     // now, and at once, "ckpt" is there
//
// Each save is atomic: after a crash the session holds the parts whose saves had returned, perhaps
// one more, and nothing torn. The checkpoint appears with Finalize, whole or not at all. It links
// the data files of the parts.
//
// A session lies beside its checkpoint as ckpt.partial_save, in the form of
// Orbax's: a session that Orbax began can be continued and finalized here, and
// the reverse. A part adds; a leaf that is there already is refused, unless
// SaveOptions.Replace says that the new one counts. What Orbax's finalization
// cannot do, replacing, removing, and strings in several parts, makes the session
// one that Orbax refuses before it touches a file.
//
// To add to a checkpoint that is finished see checkpoint.SaveOptions.PartialUpdate.
package partial
