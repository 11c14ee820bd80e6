// Package surgery changes the trees of checkpoints by rules: it renames, stacks, splits and casts
// leaves, and reads an array only when it is needed.
//
//	script, err := surgery.Parse([]byte(`
//	rules:
//	- rename: {pattern: 'params\.(.*)', to: 'model.$1'}
//	- stack: {pattern: 'model\.layers\.(\d+)\.(.*)', to: 'model.layers.$2'}
//	`))
//	n, err := checkpoint.LoadAndTransform(ctx, []string{path}, nil, script.Transform, nil)
//
// A Script is a list of rules, each a value that prints itself as the line of YAML that Parse
// reads. Rules work one after the other on the names of leaves, which are their keys joined with
// ".": layers.0.w. Arrays stay lazy. A box of the result of a rule is mapped to boxes of its
// sources. So a state of any size passes within a small memory budget, and a dropped leaf is not
// read.
//
//	rule       of each              makes
//	rename     leaf                 the same leaf, of another name
//	drop       leaf                 nothing
//	cast       array, number        the array in another dtype
//	transpose  array                the array with its axes in another order
//	repeat     array                each element several times along an axis, or all of it
//	stack      indexed arrays       one array, with a new axis of the indices
//	unstack    array                an array for each index of an axis
//	fuse       several arrays       one array, joined along an axis
//	split      array                several arrays, cut along an axis
//
// A pattern is a regular expression of package regexp that must match the whole name. Its captures
// are $1, $2, ${name} in new names. Stack and fuse join the leaves that get the same new name.
//
// Nothing is guessed. These are errors that name rule and leaf: a pattern that matches nothing
// (unless the rule is optional), two leaves of one name, a missing or duplicate index, arrays of
// different dtypes or shapes, an axis that does not exist, sizes that do not add up.
//
// New names make dictionaries. A list or struct stays as it is if it keeps all of its leaves, with
// their last keys. If the index of an unstack is a key by itself, unstack makes a list. A list with
// gaps becomes a dictionary.
package surgery
