package fn

import (
	"context"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/gofunc"
)

// Func is a Go function that is called like an operator: in every mode, with Tensors and Batches,
// and in compiled loops. Several goroutines may use it.
type Func struct{ schema *op.Schema }

// NewFunc makes a Func, which must be Deterministic. Make it once, not for each call or in the body
// of a loop: a context prepares each Func that it meets. The name is part of the identity of
// compiled loops. NewFunc fails with errs.Invalid for a Function whose fields contradict each
// other, and with errs.Unsupported for a Stateful one.
func NewFunc(f gofunc.Function) (*Func, error) {
	if f.Stateful {
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "fn.NewFunc", Subject: "Function.Stateful",
			Want:   "a function whose outputs depend only on its inputs",
			Got:    "one that remembers something, though calls may be computed in any order",
			Remedy: "call it in Go between calls, or use fn.Func in a pipeline"}
	}
	s, err := f.Schema()
	if err != nil {
		return nil, errs.Wrap("fn.NewFunc", "", err)
	}
	make := s.New
	s.New = func(c *op.Config) (op.Kernel, error) {
		k, err := make(c)
		return &namedKernel{k, f.Name}, err
	}
	return &Func{s}, nil
}

// Call calls the function; see dynamic.Invoke.
func (f *Func) Call(ctx context.Context, inputs ...dynamic.Value) []dynamic.Value {
	return dynamic.Invoke(ctx, dynamic.Call{Schema: f.schema, Inputs: inputs})
}

// namedKernel is the kernel of a Func.
type namedKernel struct {
	op.Kernel
	name string
}

// Batched implements op.Batched.
func (k *namedKernel) Batched() bool { return op.IsBatched(k.Kernel) }

// Identity implements op.Identifier.
func (k *namedKernel) Identity() string { return "the function " + k.name }
