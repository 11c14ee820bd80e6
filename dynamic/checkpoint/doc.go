// Package checkpoint captures and restores everything with a state in a program that calls
// operators one by one: readers, generators, and the program's own objects.
//
//	c := checkpoint.New()
//	c.Register(reader, "reader")     // on resume: applies the loaded state
//	c.Register(generator, "rng")
//	…
//	c.Collect()                      // asks all of them for their states
//	path, err := c.Save("run/state_{seq:04d}.json")
//	…
//	c := checkpoint.New()
//	path, err := c.Load("run/state_{seq:04d}.json") // the newest
//	c.Register(reader, "reader")
//
// # States of a Checkpoint
//
//	new ──Register──▶ … ──Collect──▶ complete ──Clear──▶ new
//	 └──Deserialize, Load──▶ loaded ──Register: applies──▶ … ──Collect──▶ complete
//
// A complete checkpoint takes no further objects under new names. A loaded checkpoint takes only
// objects for which it has a state. A state that was set or loaded is dirty until it has been
// applied to its object, by Register or [Checkpoint.Restore].
//
// # Format
//
// JSON, version 2, as DALI 2.4.0 writes and reads it, byte for byte:
//
//	{"version": 2, "states": {"<key>": {"state": "<text>", "type": "<type>" | null}, …}}
//
// in the order of the keys' first appearance. A file is written under another name, synced, and
// renamed. So a crash leaves the old state or the new one.
//
// # Beyond DALI
//
// [Of] adapts pipelines, loaders and other streams, so that they can be registered. [Options] add a
// checksum of the states, in a member "bivouac" of the text that DALI ignores. They can keep only
// the newest files. Concurrent calls are refused.
//
// Errors: errs.NotFound where DALI raises KeyError or FileNotFoundError, errs.Mismatch
// where it raises TypeError, errs.Invalid where it raises ValueError, errs.Sequence
// where it raises RuntimeError.
package checkpoint
