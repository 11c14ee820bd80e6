package surgery

import "github.com/bivouac-ml/bivouac/tensor"

// Rule is one of the rules of this package, as a value. String returns the line of YAML that Parse
// reads, without the dash.
type Rule interface {
	String() string
	// check returns an error if the rule can never be applied.
	check() error
	// edits returns the changes that the rule makes to the leaves.
	edits(leaves []leaf) ([]edit, error)
}

// Match selects the leaves of a rule: those whose whole name matches Pattern, a regular expression
// of package regexp.
type Match struct {
	Pattern string `yaml:"pattern"`
	// Optional makes the rule do nothing if no leaf matches. Without it that is an error.
	Optional bool `yaml:"optional,omitempty"`
}

// Rename gives leaves the name To. $1, $2 and ${name} in To are the texts that the pattern
// captured.
type Rename struct {
	Match `yaml:",inline"`
	To    string `yaml:"to"`
}

// Copy adds the same leaf under another name too, which is made as in Rename.
type Copy struct {
	Match `yaml:",inline"`
	To    string `yaml:"to"`
}

// Drop removes leaves.
type Drop struct {
	Match `yaml:",inline"`
}

// Cast gives arrays and numbers another dtype, as tensor.Cast does. Numbers become
// arrays of rank 0.
type Cast struct {
	Match
	DType tensor.DType
}

// Transpose reorders the axes of arrays: axis i of the result is axis Axes[i] of the array. Without
// Axes it reverses their order.
type Transpose struct {
	Match `yaml:",inline"`
	Axes  []int `yaml:"axes,omitempty,flow"`
}

// Repeat repeats each element along an axis Times times, or with Whole the whole array: repeat and
// tile of numpy.
type Repeat struct {
	Match `yaml:",inline"`
	Axis  int  `yaml:"axis,omitempty"` // negative ones count from the last
	Times int  `yaml:"times"`
	Whole bool `yaml:"whole,omitempty"`
}

// Stack joins arrays of one dtype and shape along a new axis. Their names contain indices, 0 to
// n-1, which give the order.
//
// The index is the text that the group called index captures, or the first group if there is no
// group of that name. Leaves that get the same new name, To, are stacked together:
// 'layers\.(\d+)\.(.*)' to 'layers.$2' stacks all leaves of layers.
type Stack struct {
	Match `yaml:",inline"`
	To    string `yaml:"to"`
	Axis  int    `yaml:"axis,omitempty"`  // of the result; a negative axis counts from its last axis
	Count int    `yaml:"count,omitempty"` // the number of indices that must exist; 0 allows any number
	// Fill, when not nil, is the value of all elements of an array whose index is missing.
	Fill *float64 `yaml:"fill,omitempty"`
}

// Unstack is the inverse of Stack: it makes an array for each index of an axis. ${index} in To is
// the index.
type Unstack struct {
	Match `yaml:",inline"`
	To    string `yaml:"to"`
	Axis  int    `yaml:"axis,omitempty"`  // negative ones count from the last
	Count int    `yaml:"count,omitempty"` // the extent that the axis must have; 0 allows any extent
}

// Fuse joins arrays of one dtype along an axis that they have. Their other extents agree. Either
// Keys names the arrays in their order, or a pattern selects them: arrays with the same new name,
// To, are joined. The group of the pattern called part then gives the order: the order of Parts,
// each of which must be there, or without Parts the order of indices 0 to n-1.
//
//	{pattern: '(.*)\.(?P<part>q|k|v)', parts: [q, k, v], to: '$1.qkv'}
type Fuse struct {
	Pattern  string   `yaml:"pattern,omitempty"`
	Parts    []string `yaml:"parts,omitempty,flow"`
	Keys     []string `yaml:"keys,omitempty,flow"`
	To       string   `yaml:"to"`
	Axis     int      `yaml:"axis,omitempty"` // negative ones count from the last
	Optional bool     `yaml:"optional,omitempty"`
}

// Split is the inverse of Fuse: it cuts an array along an axis into several arrays, in the order of
// their names in To.
type Split struct {
	Match `yaml:",inline"`
	To    []string `yaml:"to,flow"`
	Axis  int      `yaml:"axis,omitempty"` // negative ones count from the last
	// Sizes are the extents of the parts along the axis; without Sizes the parts are equal.
	Sizes []int `yaml:"sizes,omitempty,flow"`
}

// String returns the rule as YAML.
func (r Rename) String() string { return text(document{Rename: &r}) }

// String returns the rule as YAML.
func (r Copy) String() string { return text(document{Copy: &r}) }

// String returns the rule as YAML.
func (r Drop) String() string { return text(document{Drop: &r}) }

// String returns the rule as YAML.
func (r Cast) String() string { return text(document{Cast: &cast{r.Match, r.DType.String()}}) }

// String returns the rule as YAML.
func (r Transpose) String() string { return text(document{Transpose: &r}) }

// String returns the rule as YAML.
func (r Repeat) String() string { return text(document{Repeat: &r}) }

// String returns the rule as YAML.
func (r Stack) String() string { return text(document{Stack: &r}) }

// String returns the rule as YAML.
func (r Unstack) String() string { return text(document{Unstack: &r}) }

// String returns the rule as YAML.
func (r Fuse) String() string { return text(document{Fuse: &r}) }

// String returns the rule as YAML.
func (r Split) String() string { return text(document{Split: &r}) }
