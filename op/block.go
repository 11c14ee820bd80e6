package op

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unsafe"

	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Kernel computes an operator. Unless it is [Batched], it computes each sample independently, in
// any block and on any worker. The package comment says which state it may keep.
type Kernel interface {
	// Infer returns the specs of Run's outputs for inputs with the given specs, or an error that names
	// the invalid input. A dimension of -1 is known only from the data. If no dimension is -1, Run
	// must produce exactly these shapes.
	Infer(in []tensor.Spec) ([]tensor.Spec, error)
	// Run computes all samples of the block. If Run returns an error, all samples fail; Block.Fail
	// fails a single sample. Run must not keep b or its memory.
	Run(b *Block) error
}

// SampleKernel computes an operator one sample at a time. [Each] makes it a Kernel.
type SampleKernel interface {
	// Infer works like Kernel.Infer.
	Infer(in []tensor.Spec) ([]tensor.Spec, error)
	// Sample computes sample s of the block. An error fails only this sample.
	Sample(b *Block, s int) error
}

// Each returns a kernel that computes every sample of a block with k. It hides all other kernel
// interfaces of k. So Each panics if k implements one of them.
func Each(k SampleKernel) Kernel {
	switch k.(type) {
	case Batched, Identifier, Regional, Windowed, Framed:
		panic(fmt.Sprintf("op.Each: %T implements an interface of kernels that Each hides: give it a Run", k))
	}
	return each{k}
}

type each struct{ SampleKernel }

// Run implements Kernel.
func (k each) Run(b *Block) error {
	return b.Each(func(s int) error { return k.Sample(b, s) })
}

// Batched is implemented by kernels that can need all samples of a batch in one block.
type Batched interface {
	// Batched reports whether this kernel needs all samples in one block.
	Batched() bool
}

// IsBatched reports whether a kernel needs all samples of the batch in one block.
func IsBatched(k Kernel) bool {
	b, ok := k.(Batched)
	return ok && b.Batched()
}

// Remembering is implemented by kernels that remember something from batch to batch. The executor
// runs one batch after the other, in order, and calls the methods between them.
type Remembering interface {
	Batched
	// Use begins the use of what the kernel remembers, until Leave. It returns false during another
	// use.
	Use() bool
	Leave()
	// AppendState appends what the kernel remembers after the batches so far.
	AppendState(dst []byte) ([]byte, error)
	// SetState makes the kernel remember what AppendState appended. It returns an error, and changes
	// nothing, for other bytes.
	SetState([]byte) error
}

// Identifier is implemented by kernels whose results depend on more than their arguments, for
// example on the decoder of the build. The text is part of the identity of a graph.
type Identifier interface {
	Identity() string
}

// Memory provides the memory of a block. Executors implement it.
type Memory interface {
	// Output returns size bytes for sample s of output i, aligned to 8 bytes. They stay valid until
	// the consumers of the output are done.
	Output(i, s, size int) []byte
	// Scratch returns size bytes, aligned to 8 bytes. They stay valid until Run returns.
	Scratch(size int) []byte
}

// Binding is the executor's part of a block. The tensors of outputs keep their Shape slices from
// run to run, so that repeated runs allocate no shapes.
type Binding struct {
	In, Args, Out [][]tensor.Tensor // [port][sample]
	Specs         []tensor.Spec     // of outputs
	Memory        Memory
	Positions     []int64 // one stream position per sample; its length is the block's length
	Slots         []int32 // one place in the batch per sample
	Keyer         rng.Keyer
	Key           uint64        // rng.NodeKey of the node's name
	Call          uint32        // number of the call, if a node is called several times per sample
	Local         *any          // the value that PerWorker keeps
	Errors        map[int]error // failed samples
	// Wanted implements Block.Wanted. If nil, the whole image is wanted.
	Wanted func(s, height, width int) (Region, bool)
	// Source returns the name of the file that sample s of input i was read from, or "".
	Source func(i, s int) string
	Limits Limits // of samples
	// Deadline is the end of the time for the block; zero means that there is no limit.
	Deadline time.Time
}

// Block is a sequence of samples that a kernel computes. Tensors of inputs must not be written to.
// Only one goroutine uses a Block.
type Block struct{ x Binding }

// Binding returns the binding of b, which its executor sets and reads.
func (b *Block) Binding() *Binding { return &b.x }

// Len returns the number of samples.
func (b *Block) Len() int { return len(b.x.Positions) }

// In returns sample s of input i.
func (b *Block) In(i, s int) tensor.Tensor { return b.x.In[i][s] }

// Arg returns sample s of argument input i. Most kernels use [Scalar] and [Vector] instead.
func (b *Block) Arg(i, s int) tensor.Tensor { return b.x.Args[i][s] }

// Position returns the stream position of sample s.
func (b *Block) Position(s int) int64 { return b.x.Positions[s] }

// RNG returns the random stream of sample s at this operator. The stream is a value that always
// yields the same numbers.
func (b *Block) RNG(s int) rng.Philox {
	return b.x.Keyer.Stream(b.x.Positions[s], int(b.x.Slots[s]), b.x.Key, b.x.Call)
}

// Inputs returns the number of inputs.
func (b *Block) Inputs() int { return len(b.x.In) }

// Slot returns the place of sample s in its batch.
func (b *Block) Slot(s int) int { return int(b.x.Slots[s]) }

// Source returns the name of the file that sample s of input i was read from, or "" if the sample
// was computed.
func (b *Block) Source(i, s int) string {
	if b.x.Source == nil {
		return ""
	}
	return b.x.Source(i, s)
}

// Out sets the shape of sample s of output i and returns the sample. The contents of its memory are
// undefined; the kernel must write every byte. Dtype and layout are as Infer returned them. A shape
// beyond Limits ends Run with a panic of an *errs.Error, which becomes the error of the sample.
func (b *Block) Out(i, s int, shape ...int) tensor.Tensor {
	t, spec := &b.x.Out[i][s], &b.x.Specs[i]
	t.DType, t.Layout = spec.DType, spec.Layout
	t.Shape = append(t.Shape[:0], shape...)
	size, err := t.Shape.Bytes(t.DType)
	if err != nil {
		size = -1
	}
	if size < 0 || int64(size) > b.x.Limits.MaxBytes && int64(size) > b.Limits().MaxBytes {
		t.Data = nil
		panic(b.x.Limits.CheckBytes("an output "+t.DType.String()+t.Shape.String(), int64(size)))
	}
	t.Data = b.x.Memory.Output(i, s, size)
	return *t
}

// Alias makes sample s of output i a view of an input of the same sample. Nothing is copied.
func (b *Block) Alias(i, s int, view tensor.Tensor) {
	t := &b.x.Out[i][s]
	t.DType, t.Layout, t.Data = view.DType, view.Layout, view.Data
	t.Shape = append(t.Shape[:0], view.Shape...)
}

// Leave leaves sample s out of output i, of an operator that Splits.
func (b *Block) Leave(i, s int) {
	t := &b.x.Out[i][s]
	t.DType, t.Data = tensor.Invalid, nil
}

// Fail makes err the result of sample s. The kernel continues with the other samples.
func (b *Block) Fail(s int, err error) {
	if b.x.Errors == nil {
		b.x.Errors = map[int]error{}
	}
	if b.x.Errors[s] == nil {
		b.x.Errors[s] = err
	}
}

// Limits returns the limits of a sample.
func (b *Block) Limits() Limits { return b.x.Limits.WithDefaults() }

// Overdue returns an error once the time that Limits give is over. Kernels that can take long ask
// for it now and then and stop.
func (b *Block) Overdue() error {
	if b.x.Deadline.IsZero() {
		return nil
	}
	late := time.Since(b.x.Deadline)
	if late <= 0 {
		return nil
	}
	return b.x.Limits.CheckTime(late+b.x.Limits.MaxTime*time.Duration(b.Len()), b.Len())
}

// Scratch returns memory for n Ts that stays valid until Run returns. Its contents are undefined. A
// size beyond Limits ends Run, like an output that is too large.
func Scratch[T int32 | int64 | float32 | float64 | uint8](b *Block, n int) []T {
	if n == 0 {
		return nil
	}
	var zero T
	size := int64(unsafe.Sizeof(zero))
	if n < 0 || int64(n) > b.x.Limits.MaxBytes/size && int64(n) > b.Limits().MaxBytes/size {
		bytes := int64(-1)
		if n >= 0 && int64(n) <= unlimited/size {
			bytes = int64(n) * size
		}
		panic(b.x.Limits.CheckBytes("memory to work in", bytes))
	}
	p := b.x.Memory.Scratch(n * int(size))
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(p))), n)
}

// PerWorker returns the worker's own T for this node, which is zero at first. It holds handles,
// plans and tables that are reused from sample to sample. Its contents must never change a result.
func PerWorker[T any](b *Block) *T {
	if v, ok := (*b.x.Local).(*T); ok {
		return v
	}
	v := new(T)
	*b.x.Local = v
	return v
}

// Number returns element i of t as a float64. ok is false unless the elements are integers, bools,
// float32 or float64.
func Number(t tensor.Tensor, i int) (v float64, ok bool) {
	d := t.DType
	if ok = d == tensor.Float32 || d == tensor.Float64 || d == tensor.Bool || d.IsInteger() && d.Bits() >= 8; ok {
		v = element[float64](t, i)
	}
	return v, ok
}

// Each calls f for every sample. An error fails only this sample.
func (b *Block) Each(f func(s int) error) error {
	for s := range b.Len() {
		if err := f(s); err != nil {
			b.Fail(s, err)
		}
	}
	return nil
}

// element returns element i of a tensor as T. The dtype must have passed CheckArgument.
func element[T bool | int | float64](t tensor.Tensor, i int) T {
	le := binary.LittleEndian
	switch t.DType {
	case tensor.Float32:
		return from[T](float64(math.Float32frombits(le.Uint32(t.Data[4*i:]))))
	case tensor.Float64:
		return from[T](math.Float64frombits(le.Uint64(t.Data[8*i:])))
	case tensor.Int8:
		return from[T](int64(int8(t.Data[i])))
	case tensor.Uint8, tensor.Bool:
		return from[T](int64(t.Data[i]))
	case tensor.Int16:
		return from[T](int64(int16(le.Uint16(t.Data[2*i:]))))
	case tensor.Uint16:
		return from[T](int64(le.Uint16(t.Data[2*i:])))
	case tensor.Int32:
		return from[T](int64(int32(le.Uint32(t.Data[4*i:]))))
	case tensor.Uint32:
		return from[T](int64(le.Uint32(t.Data[4*i:])))
	case tensor.Uint64:
		return from[T](int64(min(le.Uint64(t.Data[8*i:]), math.MaxInt64)))
	}
	return from[T](int64(le.Uint64(t.Data[8*i:])))
}

func from[T bool | int | float64, N int64 | float64](v N) (out T) {
	switch p := any(&out).(type) {
	case *float64:
		*p = float64(v)
	case *int:
		*p = int(v)
	case *bool:
		*p = v != 0
	}
	return out
}
