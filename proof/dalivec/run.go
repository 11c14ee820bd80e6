package dalivec

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/optest"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Status is the outcome of a case.
type Status uint8

// The outcomes.
const (
	Passed Status = iota
	Failed
	Skipped
	Divergent
)

// Verdict is the outcome of a case. Kind is the name that stands for all that are
// skipped or divergent for the same reason.
type Verdict struct {
	Status Status
	Kind   string
	Reason string
}

// Results are the samples of the outputs of some iterations: [iteration][output][sample].
type Results [][][]tensor.Tensor

// Run computes a case of a single operator, without a graph, and judges it. Cases
// of operators that are not registered are skipped.
func (s *Set) Run(c *Case) Verdict {
	if _, err := op.Lookup(c.Op); err != nil {
		return Verdict{Status: Skipped, Kind: "operator:" + c.Op, Reason: "is not there"}
	}
	return s.Judge(c, func() (Results, error) { return s.compute(c) })
}

// compute runs the operator of a case alone.
func (s *Set) compute(c *Case) (Results, error) {
	args, err := c.arguments()
	if err != nil {
		return nil, err
	}
	inputs, err := s.Inputs(c)
	if err != nil {
		return nil, err
	}
	var out Results
	for i := range c.Iters {
		r, err := optest.Run(optest.Case{
			Op: c.Op, Args: args, Inputs: inputs, Count: c.Batch, Keyer: c.keyer(), First: int64(i * c.Batch),
		})
		if err != nil {
			return nil, err
		}
		for _, sample := range slices.Sorted(maps.Keys(r.Errors)) {
			return nil, fmt.Errorf("sample %d: %w", sample, r.Errors[sample])
		}
		out = append(out, r.Outputs)
	}
	return out, nil
}

// Judge holds what compute gives against what the case expects. A panic is a failure.
func (s *Set) Judge(c *Case, compute func() (Results, error)) Verdict {
	got, err := guard(compute)
	if d := divergenceOf(c); d != nil {
		if err := d.judge(s, c, got, err); err != nil {
			return Verdict{Status: Failed, Kind: d.name, Reason: "divergence " + d.name + ": " + err.Error()}
		}
		return Verdict{Status: Divergent, Kind: d.name}
	}
	if codec := c.optionalCodec(); codec != "" && errors.Is(err, errs.Unsupported) && c.Error == nil {
		return Verdict{Status: Skipped, Kind: codec, Reason: err.Error()}
	}
	if c.Error != nil {
		if err := SameKind(c.Error, err); err != nil {
			return Verdict{Status: Failed, Reason: err.Error()}
		}
		return Verdict{}
	}
	if err == nil {
		err = s.compareResults(c, got)
	}
	if err != nil {
		return Verdict{Status: Failed, Reason: err.Error()}
	}
	return Verdict{}
}

// crashed is an error that is a mistake of the program, whatever was expected.
type crashed struct{ error }

func guard[T any](f func() (T, error)) (got T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = crashed{fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return f()
}

func (c *Case) optionalCodec() string {
	for _, in := range c.Inputs {
		for _, x := range in {
			if filepath.Ext(x.File) == ".jp2" {
				return "ffmpeg is not installed: JPEG 2000"
			}
		}
	}
	return ""
}

// compareResults holds every recorded output against what was computed.
func (s *Set) compareResults(c *Case, got Results) error {
	if len(c.Outputs) == 0 {
		return fmt.Errorf("the case expects neither outputs nor an error")
	}
	var want Results // how many there are
	for i := range c.Outputs {
		w := &c.Outputs[i]
		where := fmt.Sprintf("iteration %d, output %d, sample %d", w.Iter, w.Output, w.Sample)
		if w.Iter >= len(got) || w.Output >= len(got[w.Iter]) || w.Sample >= len(got[w.Iter][w.Output]) {
			return fmt.Errorf("%s: want a sample, got no such sample", where)
		}
		tol := s.Tolerance(Subject{
			Group: c.Group, Op: c.Op, DType: w.DType, Args: c.Args, Expr: c.Expr, File: c.file(w.Sample), Case: c.Name,
			Output: w.Output,
		})
		if err := s.CompareValue(got[w.Iter][w.Output][w.Sample], &w.Value, "ops/"+c.Group+"/"+c.Name, tol); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		want = count(want, w)
	}
	for i := range want {
		if len(got[i]) != len(want[i]) {
			return fmt.Errorf("iteration %d: %d outputs, want %d", i, len(got[i]), len(want[i]))
		}
		for o := range want[i] {
			if len(got[i][o]) != len(want[i][o]) {
				return fmt.Errorf("iteration %d, output %d: %d samples, want %d", i, o, len(got[i][o]), len(want[i][o]))
			}
		}
	}
	return nil
}

// count makes r large enough for an output.
func count(r Results, w *Output) Results {
	for len(r) <= w.Iter {
		r = append(r, nil)
	}
	for len(r[w.Iter]) <= w.Output {
		r[w.Iter] = append(r[w.Iter], nil)
	}
	for len(r[w.Iter][w.Output]) <= w.Sample {
		r[w.Iter][w.Output] = append(r[w.Iter][w.Output], tensor.Tensor{})
	}
	return r
}

// JudgeRun judges a case of which f says how it went: nil when all was as recorded.
// want is the error that is recorded instead, or nil. A panic is a failure.
func JudgeRun(want *Raised, f func() error) Verdict {
	_, err := guard(func() (struct{}, error) { return struct{}{}, f() })
	if want != nil {
		err = SameKind(want, err)
	}
	if err != nil {
		return Verdict{Status: Failed, Reason: err.Error()}
	}
	return Verdict{}
}
