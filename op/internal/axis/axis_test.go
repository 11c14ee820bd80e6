package axis_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/internal/axis"
)

func read(t *testing.T, args map[string]op.Argument) (axis.Set, error) {
	t.Helper()
	s := &op.Schema{Name: "x", Params: axis.Params(false, "Axes")}
	c, _, err := op.Resolve(s, "node", 0, args)
	if err != nil {
		t.Fatal(err)
	}
	return axis.Read(c)
}

func TestOf(t *testing.T) {
	axes := func(v ...int) map[string]op.Argument { return map[string]op.Argument{"axes": {Const: v}} }
	names := func(v string) map[string]op.Argument { return map[string]op.Argument{"axis_names": {Const: v}} }
	for _, c := range []struct {
		args   map[string]op.Argument
		layout string
		want   []int
		fails  bool
	}{
		{nil, "HWC", []int{0, 1, 2}, false},
		{axes(), "HWC", []int{}, false},
		{axes(2, 0), "", []int{2, 0}, false},
		{axes(-1), "", []int{2}, false},
		{axes(-1, 2), "", nil, true},
		{axes(3), "", nil, true},
		{axes(-4), "", nil, true},
		{names("CH"), "HWC", []int{2, 0}, false},
		{names("CC"), "HWC", nil, true},
		{names("F"), "HWC", nil, true},
		{names("C"), "", nil, true},
	} {
		s, err := read(t, c.args)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Of(nil, 0, 3, c.layout, nil)
		if c.fails != errors.Is(err, errs.Invalid) || !c.fails && !slices.Equal(got, c.want) {
			t.Errorf("%v of %q: %v %v, want %v", c.args, c.layout, got, err, c.want)
		}
		if s.Given() != (len(c.args) > 0) || !s.Const() {
			t.Errorf("%v: given %v, constant %v", c.args, s.Given(), s.Const())
		}
	}
}

func TestBothAreRefused(t *testing.T) {
	if _, err := read(t, map[string]op.Argument{"axes": {Const: 1}, "axis_names": {Const: "H"}}); !errors.Is(err, errs.Invalid) {
		t.Errorf("axes and axis_names: %v", err)
	}
}
