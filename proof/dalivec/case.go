package dalivec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/tensor"
)

// Set is a folder of vectors.
type Set struct {
	dir   string
	rules []rule
}

// Open returns the vectors in dir. The working directory may change afterwards.
func Open(dir string) (*Set, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	var file struct{ Rules []rule }
	if err := ReadJSON(filepath.Join(dir, "tolerances.json"), &file); err != nil {
		return nil, err
	}
	for i := range file.Rules {
		if err := file.Rules[i].prepare(); err != nil {
			return nil, fmt.Errorf("tolerances.json: rule %d: %w", i, err)
		}
	}
	return &Set{dir: dir, rules: file.Rules}, nil
}

// Path returns the path of a file of the vectors, given with slashes.
func (s *Set) Path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// Case is one entry of ops/GROUP/cases.json.
type Case struct {
	Name, Group, Op, Expr string
	AST                   []any      // of Expr
	Inputs                [][]Sample // [input][sample]
	Args                  map[string]any
	Outputs               []Output
	Error                 *Raised
	Batch                 int // samples of a batch where there are no inputs
	Iters                 int
	PipeSeed              *int64            `json:"pipe_seed"`
	Files                 map[string]string // that the operator writes to the working directory, with their text
}

// Raised is an exception that DALI raised; the type CRASH stands for a process
// that died or gave no result.
type Raised struct{ Type, Message string }

// Output is what DALI gave for a sample of an output of an iteration.
type Output struct {
	Iter, Output, Sample int
	Value
}

// Groups returns the names of the groups of operators, sorted.
func (s *Set) Groups() ([]string, error) {
	entries, err := os.ReadDir(s.Path("ops"))
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

// Cases returns the cases of a group of operators.
func (s *Set) Cases(group string) ([]*Case, error) {
	var cases []*Case
	if err := ReadJSON(s.Path("ops/"+group+"/cases.json"), &cases); err != nil {
		return nil, err
	}
	for _, c := range cases {
		c.Iters, c.Batch = max(c.Iters, 1), c.batch()
	}
	return cases, nil
}

// batch returns the size of the batches: the number of samples of the first input, or else the size
// that is given.
func (c *Case) batch() int {
	switch {
	case len(c.Inputs) > 0:
		return len(c.Inputs[0])
	case c.Batch > 0:
		return c.Batch
	}
	return 2
}

// Seed is the seed of the case's pipeline.
func (c *Case) Seed() int64 {
	if c.PipeSeed != nil {
		return *c.PipeSeed
	}
	return 1
}

// Inputs returns the samples of the inputs of a case. The paths that io.file.read
// is given are relative to the folder of the inputs.
func (s *Set) Inputs(c *Case) ([][]tensor.Tensor, error) {
	inputs, err := s.Batches(c.Inputs)
	if c.Op == "io.file.read" || strings.Contains(c.Expr, "io.file.read") {
		for i, x := range c.Inputs[0] {
			path := []byte(s.dir + string(filepath.Separator) + filepath.FromSlash("inputs/"+x.Text)) // as it is, with any ".."
			inputs[0][i].Data, inputs[0][i].Shape = path, tensor.Shape{len(path)}
		}
	}
	return inputs, err
}

// Batches returns the samples of the inputs. The layout of any sample of an input holds for all.
func (s *Set) Batches(inputs [][]Sample) ([][]tensor.Tensor, error) {
	out := make([][]tensor.Tensor, len(inputs))
	for i, samples := range inputs {
		layout := ""
		if k := slices.IndexFunc(samples, func(x Sample) bool { return x.Layout != "" }); k >= 0 {
			layout = samples[k].Layout
		}
		for _, x := range samples {
			t, err := s.tensorOf(x)
			if err != nil {
				return nil, err
			}
			t.Layout = layout
			out[i] = append(out[i], t)
		}
	}
	return out, nil
}

// file is the name of the input file that a rule of tolerances.json may ask for.
func (c *Case) file(sample int) string {
	for _, in := range c.Inputs {
		if sample < len(in) && in[sample].File != "" {
			return in[sample].File
		}
	}
	return ""
}
