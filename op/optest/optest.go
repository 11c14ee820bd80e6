// Package optest runs single operators in tests.
package optest

import (
	"fmt"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Case is an operator with its arguments and samples.
type Case struct {
	Op   string
	Args any // op.Args or a struct of op/opargs; a Samples value is an argument per sample
	// Inputs are the samples of each input; the first sample gives dtype and layout. Dimensions are
	// known only from the data unless Static is set.
	Inputs [][]tensor.Tensor
	Static bool
	Count  int // of samples, for operators without inputs
	Seed   uint64
	Keyer  rng.Keyer // replaces the Keyer of Seed
	First  int64     // stream position of the first sample
	Block  int       // samples per block; 0: all in one block
}

// Samples is an argument with one value per sample.
type Samples []tensor.Tensor

// OpValue implements op.Value.
func (Samples) OpValue() {}

// Result is the result of an operator.
type Result struct {
	Specs   []tensor.Spec
	Outputs [][]tensor.Tensor // [output][sample]
	Errors  map[int]error     // of samples
}

// Runner is an operator that can be run repeatedly. Later runs allocate nothing.
type Runner struct {
	kernel op.Kernel
	block  op.Block
	c      Case
	count  int
	slots  []int32
	Result Result
	memory memory
	local  any
}

// memory reuses its blocks from run to run.
type memory struct {
	first   int
	outputs map[[2]int][]byte
	scratch [][]byte
	used    int
}

func (m *memory) Output(i, s, size int) []byte {
	key := [2]int{i, m.first + s}
	if cap(m.outputs[key]) < size {
		m.outputs[key] = aligned(size)
	}
	return m.outputs[key][:size]
}

func (m *memory) Scratch(size int) []byte {
	if m.used == len(m.scratch) || cap(m.scratch[m.used]) < size {
		m.scratch = append(m.scratch[:m.used], aligned(size))
	}
	b := m.scratch[m.used][:size]
	for i := range b {
		b[i] = 0xa5 // undefined contents, to find code that relies on them
	}
	m.used++
	return b
}

func aligned(n int) []byte {
	words := make([]uint64, n/8+1)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}

// New makes the operator. It returns the errors that a graph would report.
func New(c Case) (*Runner, error) {
	s, err := op.Lookup(c.Op)
	if err != nil {
		return nil, err
	}
	_, set, err := op.Arguments(c.Args)
	if err != nil {
		return nil, err
	}
	config, names, err := op.Resolve(s, "test", len(c.Inputs), set)
	if err != nil {
		return nil, err
	}
	r := &Runner{c: c, count: c.Count, memory: memory{outputs: map[[2]int][]byte{}}}
	if r.kernel, err = s.Kernel(config); err != nil {
		return nil, err
	}
	specs := make([]tensor.Spec, len(c.Inputs))
	for i, in := range c.Inputs {
		specs[i] = tensor.Spec{DType: in[0].DType, Layout: in[0].Layout, Shape: in[0].Shape.Clone()}
		for d := range specs[i].Shape {
			if !c.Static {
				specs[i].Shape[d] = -1
			}
		}
		r.count = len(in)
	}
	args := make([]tensor.Spec, len(names))
	for i, name := range names {
		samples, ok := set[name].From.(Samples)
		if !ok {
			return nil, fmt.Errorf("argument %s is not Samples", name)
		}
		p, _ := s.Param(name)
		args[i] = samples[0].Spec()
		if err := config.CheckArgument(p, args[i]); err != nil {
			return nil, err
		}
	}
	if r.Result.Specs, err = op.Infer(r.kernel, specs, args); err != nil {
		return nil, err
	}
	b := r.block.Binding()
	b.Memory, b.Local, b.Specs = &r.memory, &r.local, r.Result.Specs
	b.Key = rng.NodeKey("test")
	for range r.Result.Specs {
		r.Result.Outputs = append(r.Result.Outputs, make([]tensor.Tensor, r.count))
	}
	for _, name := range names {
		b.Args = append(b.Args, set[name].From.(Samples))
	}
	b.In, b.Out = make([][]tensor.Tensor, len(c.Inputs)), make([][]tensor.Tensor, len(r.Result.Specs))
	b.Positions, r.slots = make([]int64, r.count), make([]int32, r.count)
	for i := range r.slots {
		r.slots[i] = int32(i)
	}
	b.Keyer = rng.NewKeyer(c.Seed)
	if c.Keyer != nil {
		b.Keyer = c.Keyer
	}
	return r, nil
}

// Run computes all samples into r.Result.
func (r *Runner) Run() error {
	b := r.block.Binding()
	all, args := b.Positions[:r.count], b.Args
	for i := range all {
		all[i] = r.c.First + int64(i)
	}
	size := r.c.Block
	if size == 0 {
		size = r.count
	}
	clear(r.Result.Errors)
	for lo := 0; lo < r.count; lo += size {
		hi := min(lo+size, r.count)
		r.memory.first, r.memory.used = lo, 0
		b.Positions, b.Slots = all[lo:hi], r.slots[lo:hi]
		for i := range b.In {
			b.In[i] = r.c.Inputs[i][lo:hi]
		}
		for i := range b.Out {
			b.Out[i] = r.Result.Outputs[i][lo:hi]
		}
		if lo > 0 || hi < r.count {
			b.Args = make([][]tensor.Tensor, len(args))
			for i := range args {
				b.Args[i] = args[i][lo:hi]
			}
		}
		err := r.run(lo, hi)
		for s, e := range b.Errors {
			if r.Result.Errors == nil {
				r.Result.Errors = map[int]error{}
			}
			r.Result.Errors[lo+s] = e
		}
		clear(b.Errors)
		if err != nil {
			b.Positions, b.Args = all, args
			return err
		}
	}
	b.Positions, b.Args = all, args
	return nil
}

// Region returns the part that the operator reads of an image of the given size, its first sample.
// ok is false if the operator does not know. Call Region after Run.
func (r *Runner) Region(height, width int) (region op.Region, ok bool) {
	k, ok := r.kernel.(op.Regional)
	if !ok {
		return op.Region{}, false
	}
	return k.Region(&r.block, 0, height, width)
}

// Run makes and runs an operator.
func Run(c Case) (Result, error) {
	r, err := New(c)
	if err != nil {
		return Result{}, err
	}
	err = r.Run()
	return r.Result, err
}

// run runs the kernel. A panic of a limit becomes the error of the samples lo to hi, as in
// executors.
func (r *Runner) run(lo, hi int) (err error) {
	b := r.block.Binding()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *errs.Error:
			if b.Errors == nil {
				b.Errors = map[int]error{}
			}
			for s := range hi - lo {
				b.Errors[s] = p
			}
		default:
			panic(p)
		}
	}()
	return r.kernel.Run(&r.block)
}
