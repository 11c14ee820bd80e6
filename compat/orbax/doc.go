// Package orbax says what stands for each public name of orbax.checkpoint.v1 (0.12.8).
//
//	n, ok := orbax.Lookup("v1.save_async")    // checkpoint.SaveAsync
//
// The files of Orbax are those of package checkpoint; this package has the names alone.
// docs/compat/orbax.md shows the same table.
package orbax
