// Package checkpoint captures and restores everything stateful in a program that
// calls operators one by one: readers, generators, and whatever else has a state.
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
// A complete checkpoint takes no further objects under new names. A loaded one takes
// those that it has a state for. A state that was set or loaded is dirty until it has
// been applied to its object, by Register or [Checkpoint.Restore].
//
// # Format
//
// JSON, version 2, as DALI 2.4.0 writes and reads it, byte for byte:
//
//	{"version": 2, "states": {"<key>": {"state": "<text>", "type": "<type>" | null}, …}}
//
// in the order of the keys' first appearance. Files are written beside their place,
// synced, and renamed, so that a crash leaves the old state or the new one.
//
// # Beyond DALI
//
// [Of] makes pipelines, loaders and whatever else has a position something to register.
// [Options] add a checksum of the states, in a member "bivouac" of the text that DALI
// passes over, and keep the newest files alone. Calls at the same time are refused.
//
// Errors: errs.NotFound where DALI raises KeyError or FileNotFoundError, errs.Mismatch
// where it raises TypeError, errs.Invalid where it raises ValueError, errs.Sequence
// where it raises RuntimeError.
package checkpoint
