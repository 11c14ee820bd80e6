// Package dalivec holds what DALI itself computed against what Bivouac computes.
//
// A [Set] is a folder of vectors: its README says what they are. The package
// reads the cases, makes their inputs and arguments, finds the rule in
// tolerances.json that says how exactly a value must be met, and compares. It
// knows operators only through the registry of package op, so that the tests of
// any of them can use it; proof/conform/dali builds the graphs and programs of the
// other sections on it.
//
// A tolerance bounds every element, and all elements together: the share of those that differ
// and the signed mean of the differences (see bounds.go). An output of which only a hash is
// recorded must have that hash. Errors are compared by kind (see raised.go).
//
// A case has one of four verdicts. What is divergent is judged by a rule of its
// own, which the case meets; docs/compat/dali.md lists them.
package dalivec

import (
	"os"
	"path/filepath"
)

// Where vectors are, relative to the root of the repository: all of them beside
// it, an excerpt within.
const (
	beside = "../shared/vectors/dali"
	within = "testdata/dali"
)

// Find returns the folder of the vectors for code that runs somewhere below the
// root of the repository. full is false for the excerpt, ok when there is neither.
func Find() (dir string, full, ok bool) {
	root, ok := moduleRoot()
	if !ok {
		return "", false, false
	}
	for _, d := range []string{beside, within} {
		dir = filepath.Join(root, filepath.FromSlash(d))
		if _, err := os.Stat(filepath.Join(dir, "tolerances.json")); err == nil {
			return dir, d == beside, true
		}
	}
	return "", false, false
}

// Committed returns the vectors of the repository itself, which have more groups than others.
func Committed() (dir string, ok bool) {
	root, ok := moduleRoot()
	return filepath.Join(root, filepath.FromSlash(within)), ok
}

// moduleRoot returns the folder of the module that the working directory is in.
func moduleRoot() (root string, ok bool) {
	root, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			return root, true
		}
		parent := filepath.Dir(root)
		if parent == root {
			return "", false
		}
		root = parent
	}
}
