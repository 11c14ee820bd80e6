package arith

import (
	"strconv"

	"github.com/bivouac-ml/bivouac/op"
)

// Subscripts are the arguments of _tensor_subscript for up to four axes.
type Subscripts struct {
	Count int `op:"num_subscripts"`

	At0   op.Arg[int] `op:"at_0"`
	Lo0   op.Arg[int] `op:"lo_0"`
	Hi0   op.Arg[int] `op:"hi_0"`
	Step0 op.Arg[int] `op:"step_0"`
	At1   op.Arg[int] `op:"at_1"`
	Lo1   op.Arg[int] `op:"lo_1"`
	Hi1   op.Arg[int] `op:"hi_1"`
	Step1 op.Arg[int] `op:"step_1"`
	At2   op.Arg[int] `op:"at_2"`
	Lo2   op.Arg[int] `op:"lo_2"`
	Hi2   op.Arg[int] `op:"hi_2"`
	Step2 op.Arg[int] `op:"step_2"`
	At3   op.Arg[int] `op:"at_3"`
	Lo3   op.Arg[int] `op:"lo_3"`
	Hi3   op.Arg[int] `op:"hi_3"`
	Step3 op.Arg[int] `op:"step_3"`
}

// The kinds of numbers in subscripts.
const (
	indexAt = iota
	rangeLo
	rangeHi
	rangeStep
)

var subscriptNames = func() (names [maxSubscripts][4]string) {
	for axis := range names {
		for kind, name := range [...]string{"at", "lo", "hi", "step"} {
			names[axis][kind] = name + "_" + strconv.Itoa(axis)
		}
	}
	return names
}()

// subscriptName returns the parameter of a kind of number of an axis.
func subscriptName(kind, axis int) string { return subscriptNames[axis][kind] }

// set sets a number of an axis below 4 to v, which is an int or an op.Value.
func (s *Subscripts) set(kind, axis int, v any) {
	arg := [...]*op.Arg[int]{
		&s.At0, &s.Lo0, &s.Hi0, &s.Step0, &s.At1, &s.Lo1, &s.Hi1, &s.Step1,
		&s.At2, &s.Lo2, &s.Hi2, &s.Step2, &s.At3, &s.Lo3, &s.Hi3, &s.Step3,
	}[4*axis+kind]
	switch v := v.(type) {
	case int:
		*arg = op.Const(v)
	case op.Value:
		*arg = op.Of[int](v)
	}
}

// subscripts collects the numbers of an index expression.
type subscripts struct {
	few  Subscripts // the arguments, for at most four axes
	more op.Args    // the arguments, for more than four axes
	any  bool
}

func (s *subscripts) set(kind, axis int, v any) {
	s.any = true
	if axis < 4 {
		s.few.set(kind, axis, v)
		if s.more == nil {
			return
		}
	}
	s.more[subscriptName(kind, axis)] = v
}

// args returns the arguments of the operator for n axes.
func (s *subscripts) args(n int) any {
	if s.more != nil {
		s.more["num_subscripts"] = n
		return s.more
	}
	s.few.Count = n
	return s.few
}
