// Package surgery changes the trees of checkpoints by rules: leaves are renamed,
// stacked, split, cast and so on, and nothing is read before it is asked for.
//
//	script, err := surgery.Parse([]byte(`
//	rules:
//	- rename: {pattern: 'params\.(.*)', to: 'model.$1'}
//	- stack: {pattern: 'model\.layers\.(\d+)\.(.*)', to: 'model.layers.$2'}
//	`))
//	n, err := checkpoint.LoadAndTransform(ctx, []string{path}, nil, script.Transform, nil)
//
// A Script is a list of rules, each a value that prints itself as the line of
// YAML that Parse reads. Rules work one after the other on the names of leaves,
// which are their keys joined with ".": layers.0.w. Arrays stay lazy: a box of
// what a rule makes is mapped to boxes of what it was made of, so that a state of
// any size passes within a small memory budget, and what is dropped is not read.
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
// A pattern is a regular expression of package regexp that must match the whole
// name. What it captured is $1, $2, ${name} in the names to give. Stack and fuse
// put those leaves together whose new names are the same.
//
// Nothing is guessed. Refused, naming rule and leaf, are: a pattern that matches
// nothing (unless the rule is optional), two leaves of one name, an index that is
// missing or there twice, arrays of different dtypes or shapes, an axis that is
// not there, sizes that do not add up.
//
// New names make dictionaries. A list or struct stays one where its leaves keep
// their last keys and it keeps all of them; what unstack makes of an index that
// is a key by itself is a list; a list with gaps becomes a dictionary.
package surgery
