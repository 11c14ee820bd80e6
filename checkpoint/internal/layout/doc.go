// Package layout recognises checkpoints and opens them as leaves.
//
// An ordered table of layouts decides what a directory is. Each layout recognises its directories
// by the names in them, and knows where the items lie. Outside this package a checkpoint is its
// metadata, a list of items and, for a tree item, []Leaf: load, verify, listing and conversion know
// no format.
//
// Where the checkpoint has a bivouac.manifest, every byte that is read through this package is
// compared with it.
package layout
