// Package tree holds the contents of a checkpoint: an ordered tree of dictionaries, lists and
// records whose leaves are tensors and scalars.
//
// [From] makes a tree from any Go value, and [Into] fills a Go value from a tree. Both see the same
// memory as the caller: numeric slices become views.
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
// Keys are strings, as in Orbax. Integer keys of maps become strings, and stay strings when they
// are read back, unless the target has integer keys.
//
// [Flatten] lists the leaves with their key paths. It also lists empty containers, which would be
// lost otherwise. [Diff] compares two trees, and [FormatDiff] prints the differences. [Structure]
// compares without values, and [Summary] bounds the number of lines. [Merge] joins trees by Orbax's
// rules.
//
// The functions of this package keep no state, and change none of their arguments except the target
// of Into. Several goroutines may read one tree.
package tree
