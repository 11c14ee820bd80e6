package surgery

import "github.com/bivouac-ml/bivouac/tensor"

// Rule is one of the rules of this package, by value. String returns it as the
// line of YAML that Parse reads, without the dash.
type Rule interface {
	String() string
	// check refuses a rule that can never be applied.
	check() error
	// edits says what becomes of leaves.
	edits(leaves []leaf) ([]edit, error)
}

// Match is what rules look for: leaves whose whole name matches Pattern, a regular
// expression of package regexp.
type Match struct {
	Pattern string `yaml:"pattern"`
	// Optional has the rule do nothing where no leaf matches, which is an error
	// otherwise.
	Optional bool `yaml:"optional,omitempty"`
}

// Rename gives leaves another name: To, in which $1, $2 and ${name} are what the
// pattern captured.
type Rename struct {
	Match `yaml:",inline"`
	To    string `yaml:"to"`
}

// Copy puts the same leaf under another name too, as Rename names it.
type Copy struct {
	Match `yaml:",inline"`
	To    string `yaml:"to"`
}

// Drop leaves leaves out.
type Drop struct {
	Match `yaml:",inline"`
}

// Cast gives arrays and numbers another dtype, as tensor.Cast does. Numbers become
// arrays of rank 0.
type Cast struct {
	Match
	DType tensor.DType
}

// Transpose puts the axes of arrays in another order: axis i of the result is axis
// Axes[i] of the array. No Axes reverse their order.
type Transpose struct {
	Match `yaml:",inline"`
	Axes  []int `yaml:"axes,omitempty,flow"`
}

// Repeat has each element along an axis Times times in a row, or with Whole the
// whole array Times times, one after the other: numpy's repeat and tile.
type Repeat struct {
	Match `yaml:",inline"`
	Axis  int  `yaml:"axis,omitempty"` // negative ones count from the last
	Times int  `yaml:"times"`
	Whole bool `yaml:"whole,omitempty"`
}

// Stack makes one array of arrays of one dtype and shape that are indexed by
// their names, along a new axis, in the order of their indices, which are 0 to n-1.
//
// The index is what the group of the pattern called index captures, or the first
// group where none is called so. Leaves whose new names, To, are the same are
// stacked together: 'layers\.(\d+)\.(.*)' to 'layers.$2' stacks all that layers have.
type Stack struct {
	Match `yaml:",inline"`
	To    string `yaml:"to"`
	Axis  int    `yaml:"axis,omitempty"`  // of the result; negative ones count from its last
	Count int    `yaml:"count,omitempty"` // how many indices there must be; 0 is as many as there are
	// Fill, when not nil, is what arrays whose index is missing are full of.
	Fill *float64 `yaml:"fill,omitempty"`
}

// Unstack is the inverse of Stack: an array for each index of an axis. ${index} in
// To is the index.
type Unstack struct {
	Match `yaml:",inline"`
	To    string `yaml:"to"`
	Axis  int    `yaml:"axis,omitempty"`  // negative ones count from the last
	Count int    `yaml:"count,omitempty"` // extent that the axis must have; 0 is any
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

// Split is the inverse of Fuse: arrays that an array is cut into along an axis, in
// the order of their names in To.
type Split struct {
	Match `yaml:",inline"`
	To    []string `yaml:"to,flow"`
	Axis  int      `yaml:"axis,omitempty"` // negative ones count from the last
	// Sizes are their extents along the axis; none cuts it into equal ones.
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
