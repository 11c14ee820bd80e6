// Package layout recognises checkpoints and opens them as leaves.
//
// What a directory is, is decided by an ordered table of layouts; each knows by
// the names in the directory whether it is its own, and where the items lie.
// Beyond this package a checkpoint is its metadata, a list of items and, for a
// tree item, []Leaf: load, verify, listing and conversion know no format.
//
// Where the checkpoint has a bivouac.manifest, every byte that is read through this package is
// compared with it.
package layout
