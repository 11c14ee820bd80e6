package pipeline_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

func init() {
	op.Register(op.Schema{Name: "count", Module: []string{"pipelinetest"},
		Doc:    "Gives the number of samples of its block.",
		Inputs: []op.Port{{Name: "in"}}, Outputs: []op.Port{{Name: "out"}},
		New: func(*op.Config) (op.Kernel, error) { return count{}, nil }})
	op.Register(op.Schema{Name: "rankless", Module: []string{"pipelinetest"},
		Doc:    "Gives what it is given, of a rank that it does not tell.",
		Inputs: []op.Port{{Name: "in"}}, Outputs: []op.Port{{Name: "out"}},
		New: func(*op.Config) (op.Kernel, error) { return rankless{}, nil }})
	op.Register(op.Schema{Name: "negate", Module: []string{"pipelinetest"},
		Doc:    "Negates a float32, and refuses what is below 0.5.",
		Inputs: []op.Port{{Name: "in", DTypes: []tensor.DType{tensor.Float32}}}, Outputs: []op.Port{{Name: "out"}},
		New: func(*op.Config) (op.Kernel, error) { return negate{}, nil }})
}

// count is a batch-level operator: the number of samples, and the slot of each.
type count struct{}

func (count) Infer([]tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{2}}}, nil
}
func (count) Batched() bool { return true }
func (count) Run(b *op.Block) error {
	for s := range b.Len() {
		t := b.Out(0, s, 2)
		t.Data[0], t.Data[1] = byte(b.Len()), byte(b.Slot(s))
	}
	return nil
}

type rankless struct{}

func (rankless) Infer(in []tensor.Spec) ([]tensor.Spec, error) {
	return []tensor.Spec{{DType: in[0].DType}}, nil
}
func (rankless) Run(b *op.Block) error {
	for s := range b.Len() {
		b.Alias(0, s, b.In(0, s))
	}
	return nil
}

type negate struct{}

func (negate) Infer(in []tensor.Spec) ([]tensor.Spec, error) { return in, nil }
func (negate) Run(b *op.Block) error {
	for s := range b.Len() {
		v := float(b.In(0, s))
		if v < 0.5 {
			b.Fail(s, &errs.Error{Kind: errs.Invalid, Got: "a small number"})
			continue
		}
		t := b.Out(0, s)
		copy(t.Data, b.In(0, s).Data)
		t.Data[3] ^= 0x80
	}
	return nil
}

func float(t tensor.Tensor) float32 {
	return math.Float32frombits(uint32(t.Data[0]) | uint32(t.Data[1])<<8 | uint32(t.Data[2])<<16 | uint32(t.Data[3])<<24)
}

func uniform(p *pipeline.Builder, name string) pipeline.Node {
	return fn.RandomUniform(p, fn.RandomUniformArgs{Name: name})
}

func coin(p *pipeline.Builder, name string) pipeline.Node {
	return fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{Name: name, DType: tensor.Bool})
}

func TestIf(t *testing.T) {
	for _, threads := range []int{1, 4} {
		p := start(t, pipeline.Options{BatchSize: 9, Workers: threads}, func(p *pipeline.Builder) []pipeline.Node {
			c, d, x, y := coin(p, "c"), coin(p, "d"), uniform(p, "x"), uniform(p, "y")
			out := p.If(c,
				func() []pipeline.Node {
					inner := p.If(d, func() []pipeline.Node { return []pipeline.Node{y} },
						func() []pipeline.Node { return []pipeline.Node{x} })
					return []pipeline.Node{inner[0], p.Op("pipelinetest.count", nil, x)[0]}
				},
				func() []pipeline.Node {
					return []pipeline.Node{uniform(p, "z"), p.Op("pipelinetest.count", nil, p.Op("pipelinetest.count", nil, y)[0])[0]}
				})
			return append(out, c, d, x, y, uniform(p, "w"))
		})
		for range 20 {
			b := next(t, p)
			taken := 0
			for s := range 9 {
				taken += int(b.Outputs[2].Sample(s).Data[0])
			}
			for s := range 9 {
				c, d := b.Outputs[2].Sample(s).Data[0] != 0, b.Outputs[3].Sample(s).Data[0] != 0
				got, n := float(b.Outputs[0].Sample(s)), b.Outputs[1].Sample(s).Data
				wantN := 9 - taken
				if c {
					wantN = taken
					want := float(b.Outputs[4].Sample(s))
					if d {
						want = float(b.Outputs[5].Sample(s))
					}
					if got != want {
						t.Errorf("sample %d: %v, want %v", s, got, want)
					}
				} else if got == float(b.Outputs[4].Sample(s)) || got == float(b.Outputs[5].Sample(s)) {
					t.Errorf("sample %d took the other branch: %v", s, got)
				}
				if int(n[0]) != wantN || int(n[1]) != s {
					t.Errorf("sample %d: a batch of %d, slot %d, want %d and %d", s, n[0], n[1], wantN, s)
				}
			}
		}
	}
}

// What a sample does not take is not computed for it.
func TestIfIsLazy(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 8}, func(p *pipeline.Builder) []pipeline.Node {
		x := uniform(p, "")
		large := p.Op("cast", op.Args{"dtype": tensor.Uint8}, x)[0] // 1 from 0.5 on
		out := p.If(large,
			func() []pipeline.Node { return p.Op("pipelinetest.negate", nil, x) },
			func() []pipeline.Node { return []pipeline.Node{x} })
		return []pipeline.Node{x, out[0]}
	})
	for range 10 {
		b := next(t, p)
		for s := range 8 {
			want := float(b.Outputs[0].Sample(s))
			if want >= 0.5 {
				want = -want
			}
			if got := float(b.Outputs[1].Sample(s)); got != want {
				t.Errorf("sample %d: %v, want %v", s, got, want)
			}
		}
	}
}

func TestLogic(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 16}, func(p *pipeline.Builder) []pipeline.Node {
		a, b := coin(p, "a"), coin(p, "b")
		right := func() pipeline.Node { return b }
		return []pipeline.Node{a, b, p.AndThen(a, right), p.OrElse(a, right), p.Not(a),
			p.OrElse(p.AndThen(a, func() pipeline.Node { return p.Not(b) }),
				func() pipeline.Node { return p.AndThen(p.Not(a), right) })}
	})
	batch := next(t, p)
	for s := range 16 {
		var v [6]bool
		for i := range v {
			v[i] = batch.Outputs[i].Sample(s).Data[0] != 0
		}
		a, b := v[0], v[1]
		if v != [6]bool{a, b, a && b, a || b, !a, a != b} {
			t.Errorf("sample %d: %v", s, v)
		}
	}
}

func TestSplitAndMerge(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 7}, func(p *pipeline.Builder) []pipeline.Node {
		c, x := coin(p, ""), uniform(p, "")
		where, others := p.Split(c, x)
		return []pipeline.Node{c, x, where, others, p.Merge(c, where, others)}
	})
	sizes := map[int]bool{}
	for range 30 {
		b := next(t, p)
		n := [2]int{}
		for s := range 7 {
			x, to := b.Outputs[1].Sample(s), 0
			if b.Outputs[0].Sample(s).Data[0] == 0 {
				to = 1
			}
			if part := b.Outputs[2+to]; part.NumSamples() <= n[to] || float(part.Sample(n[to])) != float(x) {
				t.Fatalf("part %d is not the samples of its side, in order", to)
			}
			n[to]++
			if float(b.Outputs[4].Sample(s)) != float(x) {
				t.Errorf("sample %d is not what it was", s)
			}
		}
		if b.Outputs[2].NumSamples() != n[0] || b.Outputs[3].NumSamples() != n[1] {
			t.Errorf("parts of %d and %d samples, want %v", b.Outputs[2].NumSamples(), b.Outputs[3].NumSamples(), n)
		}
		sizes[n[0]] = true
	}
	if len(sizes) < 3 {
		t.Errorf("parts of sizes %v only", sizes)
	}
}

func TestConditionalMistakes(t *testing.T) {
	same := func(n ...pipeline.Node) func() []pipeline.Node { return func() []pipeline.Node { return n } }
	for name, c := range map[string]struct {
		define func(p *pipeline.Builder) []pipeline.Node
		says   string
	}{
		"dtypes": {func(p *pipeline.Builder) []pipeline.Node {
			x := uniform(p, "")
			return p.If(coin(p, ""), same(x), func() []pipeline.Node { return p.Op("cast", op.Args{"dtype": tensor.Int32}, x) })
		}, "the same dtype in both, got float32 and int32"},
		"dimensions": {func(p *pipeline.Builder) []pipeline.Node {
			return p.If(coin(p, ""), same(uniform(p, "")), same(fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{1})})))
		}, "number of dimensions"},
		"numbers of values": {func(p *pipeline.Builder) []pipeline.Node {
			x := uniform(p, "")
			return p.If(coin(p, ""), same(x), same(x, x))
		}, "got 1 and 2"},
		"condition": {func(p *pipeline.Builder) []pipeline.Node {
			x := fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{1})})
			return p.If(x, same(x), same(x))
		}, "scalar"},
		"no branch":            {func(p *pipeline.Builder) []pipeline.Node { return p.If(coin(p, ""), nil, same(uniform(p, ""))) }, "a function"},
		"no right side of and": {func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{p.AndThen(coin(p, ""), nil)} }, "operand of and"},
		"no right side of or":  {func(p *pipeline.Builder) []pipeline.Node { return []pipeline.Node{p.OrElse(coin(p, ""), nil)} }, "operand of or"},
		"nothing":              {nil, "a function"},
		"no condition": {func(p *pipeline.Builder) []pipeline.Node {
			return p.If(pipeline.Node{}, same(uniform(p, "")), same(uniform(p, "")))
		}, "condition"},
		"operand of and": {func(p *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{p.AndThen(uniform(p, ""), func() pipeline.Node { return coin(p, "") })}
		}, "left operand of and"},
		"operand of not": {func(p *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{p.Not(fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{1})}))}
		}, "operand of not"},
		"value 1": {func(p *pipeline.Builder) []pipeline.Node {
			x, y := uniform(p, ""), p.Constant(pipeline.Constant{Value: 3})
			return p.If(coin(p, ""), same(x, x), same(x, y))
		}, "If, value 1"},
		"both sides": {func(p *pipeline.Builder) []pipeline.Node {
			where, others := p.Split(coin(p, "c"), uniform(p, ""))
			return []pipeline.Node{where.Add(others)}
		}, "both sides of c"},
		"both sides, one behind an operator": {func(p *pipeline.Builder) []pipeline.Node {
			where, others := p.Split(coin(p, "c"), uniform(p, ""))
			return p.Op("brightness_contrast", op.Args{"brightness": others.Mul(2)}, where)
		}, "both sides of c"},
		"merged the wrong way": {func(p *pipeline.Builder) []pipeline.Node {
			c := coin(p, "c")
			where, others := p.Split(c, uniform(p, ""))
			return []pipeline.Node{p.Merge(c, others, where.Neg())}
		}, "the other side"},
		"node of a branch outside": {func(p *pipeline.Builder) []pipeline.Node {
			var inner pipeline.Node
			x := uniform(p, "")
			out := p.If(coin(p, ""), func() []pipeline.Node {
				inner = p.Op("pipelinetest.negate", nil, x)[0]
				return []pipeline.Node{inner}
			}, same(x))
			return append(out, inner)
		}, "return it from the branch"},
		"node of the other branch": {func(p *pipeline.Builder) []pipeline.Node {
			var inner pipeline.Node
			x := uniform(p, "")
			return p.If(coin(p, ""), func() []pipeline.Node {
				inner = p.Op("pipelinetest.negate", nil, x)[0]
				return []pipeline.Node{inner}
			}, func() []pipeline.Node { return []pipeline.Node{inner} })
		}, "return it from the branch"},
	} {
		_, err := pipeline.Define(pipeline.Options{}, c.define)
		if !errors.Is(err, errs.Invalid) && !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want one that says %q", name, err, c.says)
		}
	}
}

// Parts of different conditions do not fit together, which only the data shows.
func TestMergeOfOthers(t *testing.T) {
	p := start(t, pipeline.Options{BatchSize: 16}, func(p *pipeline.Builder) []pipeline.Node {
		x := uniform(p, "")
		where, _ := p.Split(coin(p, "a"), x)
		_, others := p.Split(coin(p, "b"), x)
		return []pipeline.Node{p.Merge(coin(p, "c"), where, others)}
	})
	if _, err := p.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "same predicate") ||
		!strings.Contains(err.Error(), "_conditional.merge") {
		t.Error(err)
	}
}

// A condition on data of which nothing is known before it comes; a mistake in it
// shows with the first batch.
func TestIfOfFedData(t *testing.T) {
	define := func(p *pipeline.Builder) []pipeline.Node {
		in := pipeline.ExternalSource(p, pipeline.Source{}, pipeline.SourceOptions{Name: "in", Outputs: 2})
		return p.If(in[0].Greater(0),
			func() []pipeline.Node {
				return []pipeline.Node{in[1].Mul(2), p.Op("pipelinetest.count", nil, in[1])[0]}
			},
			func() []pipeline.Node { return []pipeline.Node{in[1], p.Op("pipelinetest.count", nil, in[1])[0]} })
	}
	scalars := func(values ...int32) []tensor.Tensor {
		var list []tensor.Tensor
		for _, v := range values {
			list = append(list, tensor.Tensor{DType: tensor.Int32, Shape: tensor.Shape{},
				Data: []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)}})
		}
		return list
	}
	p := start(t, pipeline.Options{BatchSize: 4, Prefetch: pipeline.NoPrefetch}, define)
	for range 3 {
		if err := p.Feed("in", []pipeline.Data{scalars(1, 0, -1), scalars(5, 6, 7)}, nil); err != nil {
			t.Fatal(err)
		}
		b := next(t, p)
		for s, want := range []struct{ value, n string }{{"int32[] 10", "uint8[2] 1 0"}, {"int32[] 6", "uint8[2] 2 1"}, {"int32[] 7", "uint8[2] 2 2"}} {
			if got, n := text(b.Outputs[0].Sample(s)), text(b.Outputs[1].Sample(s)); got != want.value || n != want.n {
				t.Errorf("sample %d: %s of %s, want %+v", s, got, n, want)
			}
		}
	}
	p = start(t, pipeline.Options{BatchSize: 4, Prefetch: pipeline.NoPrefetch}, define)
	if err := p.Feed("in", []pipeline.Data{[]tensor.Tensor{tensor.FromSlice([]int32{1})}, scalars(5)}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "scalar") ||
		!strings.Contains(err.Error(), "_conditional.split") {
		t.Errorf("a condition that is a list: %v", err)
	}
}
