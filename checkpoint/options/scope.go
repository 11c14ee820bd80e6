package options

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
)

type contextKey struct{}

// With returns a context whose calls of package checkpoint inherit o, and what o
// leaves open from ctx. Later changes of o do not reach it.
func With(ctx context.Context, o Options) context.Context {
	return context.WithValue(ctx, contextKey{}, Overlay(o, From(ctx)))
}

// From returns what With put into ctx; the zero Options where it put nothing.
func From(ctx context.Context) Options {
	o, _ := ctx.Value(contextKey{}).(Options)
	return o
}

// process is the scope below all others. It is nil until Configure is called.
var process atomic.Pointer[Options]

// Configure makes o what calls of this process inherit at last, in place of
// what an earlier Configure said. Options that Validate refuses change nothing.
// restore, which works once, puts back what was there before; calls undo each
// other in reverse order. Calls that have begun keep the options that they had.
func Configure(o Options) (restore func(), err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = Overlay(o, Options{})
	before := process.Swap(&o)
	var once sync.Once
	return func() { once.Do(func() { process.Store(before) }) }, nil
}

// Configured returns what Configure said last; the zero Options before that.
func Configured() Options {
	if o := process.Load(); o != nil {
		return *o
	}
	return Options{}
}

// Resolve returns the options of one call: each field from the first scope
// that sets it, of call, ctx, checkpointer, the process, and Default. It fails
// as Validate does, naming the scope where that one alone is at fault. Call it
// once at entry: what the call started must not see later changes.
func Resolve(ctx context.Context, call, checkpointer Options) (Options, error) {
	scopes := []struct {
		name string
		o    Options
	}{
		{"the call", call}, {"the context", From(ctx)}, {"the checkpointer", checkpointer}, {"the process", Configured()},
	}
	out, said := Options{}, false
	for _, s := range scopes {
		if reflect.ValueOf(s.o).IsZero() {
			continue // as most are, of most calls
		}
		if err := s.o.Validate(); err != nil {
			return Options{}, errs.Wrap("options.Resolve", "options of "+s.name, err)
		}
		out, said = Overlay(out, s.o), true
	}
	if !said {
		return Default().canonical(), nil
	}
	out = Overlay(out, Default())
	if err := out.complete(); err != nil {
		return Options{}, errs.Wrap("options.Resolve", "options of all scopes together", err)
	}
	return out, nil
}
