// Package tree holds the contents of a checkpoint: an ordered tree of dictionaries, lists and
// records whose leaves are tensors and scalars.
//
// [From] makes a tree of any Go value, [Into] fills a Go value from a tree, and
// both see the same memory as the caller: numeric slices become views.
//
//	type Model struct {
//		W []float32         `bivouac:"w"`
//		B []float32         `bivouac:"b,omitempty"`
//		Extra map[string]any
//	}
//
//	Go value                                   node
//	map with string or integer keys            Dict, sorted (integers by value)
//	struct                                     Named, in the order of its fields
//	slice or array of numbers, or of arrays    Leaf, a tensor.Tensor
//	of numbers
//	slice of slices of numbers, in a field     Leaf, a tensor.Tensor, if all rows are
//	with the option array: `bivouac:",array"`  equally long
//	other slice or array                       List
//	tensor.Tensor                              Leaf
//	bool, integers, floats, string             Leaf: bool, int64 (uint64 where
//	                                           it does not fit), float64, string;
//	                                           stored as bool, int64 (uint64 for uint
//	                                           and uint64), float64
//	nil pointer, nil interface                 Leaf of nil
//	*Node                                      itself
//
// Keys are strings, as in Orbax: integer keys of maps become strings and come
// back as strings where the target does not say otherwise.
//
// [Flatten] lists the leaves with their key paths; empty containers are listed
// too, since they would be lost otherwise. [Diff] compares two trees and
// [FormatDiff] prints what differs; [Structure] leaves values aside, and [Summary]
// bounds the lines. [Merge] joins trees by Orbax's rules.
//
// Functions here neither change the values they are given, Into's target
// aside, nor keep state; trees may be shared between goroutines that only read.
package tree
