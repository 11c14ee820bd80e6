package pipeline_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/tensor"
)

// show prints the outputs of the first batch of a definition.
func show(def *pipeline.Definition, err error) {
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	pipe, err := def.New(ctx, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer pipe.Close()
	batch, err := pipe.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, out := range batch.Outputs {
		for s := range out.NumSamples() {
			fmt.Println(text(out.Sample(s)))
		}
	}
}

// Nodes are computed with as numbers are.
func ExampleNode_Add() {
	show(pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		x := p.Constant(pipeline.Constant{Value: []int{1, 2, 3}})
		return []pipeline.Node{
			x.Mul(2).Add(1),                  // int32
			x.Sub(1.5),                       // float32, as one of both is a float
			x.Div(2),                         // float32 always
			x.Mul(uint8(100)),                // a Go number keeps its type; int32 is wider
			fn.Sub(10, x),                    // functions take a number on the left
			fn.Sqrt(x.Mul(x).Mul(4)),         // mathematical functions give floats
			x.GreaterEqual(2).And(x.Less(3)), // comparisons give bools
		}
	}))
	// Output:
	// int32[3] 3 5 7
	// float32[3] -0.5 0.5 1.5
	// float32[3] 0.5 1 1.5
	// int32[3] 100 200 300
	// int32[3] 9 8 7
	// float32[3] 2 4 6
	// bool[3] 0 1 0
}

// Parts of samples are taken as by numpy.
func ExampleNode_Index() {
	show(pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		x := p.Constant(pipeline.Constant{Value: []int{0, 1, 2, 3, 4, 5}, Shape: []int{2, 3}, Layout: "HW"})
		return []pipeline.Node{
			x.Index(1),                                          // a row
			x.Index(pipeline.Range{}, -1),                       // the last column
			x.Index(0, pipeline.Range{Start: 1}),                // all but the first
			x.Index(pipeline.Range{}, pipeline.Range{Step: -1}), // mirrored
			x.Index(0, pipeline.NewAxis{Name: "C"}),             // an axis more
			x.Shape(),
		}
	}))
	// Output:
	// int32[3] 3 4 5
	// int32[2] 2 5
	// int32[2] 1 2
	// int32[2,3] 2 1 0 5 4 3
	// int32[1,3] 0 1 2
	// int64[2] 2 3
}

// Each sample takes the branch that its condition says.
func ExampleBuilder_If() {
	show(pipeline.Define(pipeline.Options{BatchSize: 4, Seed: 1}, func(p *pipeline.Builder) []pipeline.Node {
		coin := fn.RandomCoinFlip(p, fn.RandomCoinFlipArgs{DType: tensor.Bool})
		x := p.Constant(pipeline.Constant{Value: []int{1, 2}})
		y := p.If(coin,
			func() []pipeline.Node { return []pipeline.Node{x.Mul(10)} },
			func() []pipeline.Node { return []pipeline.Node{x.Neg()} })
		return []pipeline.Node{coin, y[0]}
	}))
	// Output:
	// bool[] 0
	// bool[] 0
	// bool[] 1
	// bool[] 0
	// int32[2] -1 -2
	// int32[2] -1 -2
	// int32[2] 10 20
	// int32[2] -1 -2
}

// A Go function is an operator as any other.
func ExampleBuilder_Call() {
	show(pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		x := p.Constant(pipeline.Constant{Value: []uint8{1, 2, 3}})
		return fn.Func(p, fn.FuncArgs{
			Deterministic: true,
			Outputs:       []tensor.Spec{{DType: tensor.Uint8, Shape: tensor.Shape{-1}}},
			Sample: func(in []tensor.Tensor) ([]tensor.Tensor, error) {
				out := tensor.New(tensor.Uint8, in[0].Len())
				for i, v := range in[0].Data {
					out.Data[len(out.Data)-1-i] = v
				}
				return []tensor.Tensor{out}, nil
			},
		}, x)
	}))
	// Output:
	// uint8[3] 3 2 1
}

// A mistake is an error of Define, which says where it is, and what there should be.
func ExampleDefine_mistakes() {
	for _, define := range []func(p *pipeline.Builder) []pipeline.Node{
		func(p *pipeline.Builder) []pipeline.Node { return p.Op("random.unifrom", nil) },
		func(p *pipeline.Builder) []pipeline.Node { return p.Op("random.uniform", op.Args{"rnage": 2}) },
		func(p *pipeline.Builder) []pipeline.Node {
			x := fn.RandomUniform(p, fn.RandomUniformArgs{Name: "x"})
			return []pipeline.Node{x.And(1)}
		},
		func(p *pipeline.Builder) []pipeline.Node { return p.Op("random.uniform", op.Args{"device": "gpu"}) },
	} {
		_, err := pipeline.Define(pipeline.Options{}, define)
		fmt.Println(err)
	}
	// Output:
	// pipeline.Define: operator: random.unifrom: not found (did you mean "random.uniform"?)
	// pipeline.Define: random.uniform: node random.uniform, argument rnage: invalid: the operator has no such argument (did you mean "range"?)
	// pipeline.Define: bitand(x, 1): _arithmetic_generic_op: node _arithmetic_generic_op: arithmetic: bitand, operands: invalid: want integers or bools, got float32 (cast them)
	// pipeline.Define: random.uniform: node random.uniform, argument device: unsupported: want cpu, because Bivouac has no GPU, got gpu (leave it out, or set Options.Device to RunOnCPU)
}

func ExampleNewBuilder() {
	b, err := pipeline.NewBuilder(pipeline.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	x := b.Constant(pipeline.Constant{Value: 3})
	b.SetOutputs(x, x.Mul(x))
	show(b.Definition())
	// Output:
	// int32[] 3
	// int32[] 9
}

func ExampleDefinition_With() {
	def, err := pipeline.Define(pipeline.Options{BatchSize: 8, Seed: 7}, func(p *pipeline.Builder) []pipeline.Node {
		return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{})}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := def.With(func(o *pipeline.Options) { o.Seed = 0 })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(def.Options().Seed, other.Options().Seed, other.Options().BatchSize)
	// Output: 7 0 8
}

func ExampleDefinition_DOT() {
	def, err := pipeline.Define(pipeline.Options{}, func(p *pipeline.Builder) []pipeline.Node {
		x := fn.RandomUniform(p, fn.RandomUniformArgs{Name: "x"})
		return []pipeline.Node{p.Op("cast", op.Args{"name": "whole", "dtype": tensor.Int32}, x)[0]}
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ReplaceAll(string(def.DOT(pipeline.DotOptions{})), "\n\n", "\n"))
	// Output:
	// digraph graphname {
	// x -> whole;
	// whole -> __MakeContiguous_CpuToCpu_whole;
	//
	// }
}
