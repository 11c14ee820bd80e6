// Package orbax gives the Go name for each public name of orbax.checkpoint.v1 (0.12.8).
//
//	n, ok := orbax.Lookup("v1.save_async")    // checkpoint.SaveAsync
//
// Package checkpoint reads and writes the files of Orbax; this package has only the names.
// docs/compat/orbax.md shows the same table.
package orbax
