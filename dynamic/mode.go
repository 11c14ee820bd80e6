package dynamic

import (
	"context"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
)

// Mode says when calls are computed:
//
//	mode      computed                                       errors are seen
//	Deferred  when wanted, or by EvalContext.EvaluateAll     when wanted
//	Eager     in the background, in the order of the calls   when wanted
//	Sync      before the call returns                        at once
//
// The context has the mode, see [WithMode]; Eager is the default. Random numbers are drawn when the
// call is made. So results depend neither on the mode nor on the number of threads.
type Mode uint8

// The modes, in the order of DALI's.
const (
	Deferred Mode = iota + 1 // when a value is wanted, or by EvaluateAll
	Eager                    // in the background, in the order of the calls: the default
	Sync                     // before the call returns
)

var modeNames = []string{"", "deferred", "eager", "sync"}

// String returns the name of the mode, as ParseMode takes it.
func (m Mode) String() string { return enum.Name(m, modeNames, "mode %d") }

// ParseMode returns the mode with the given name: "deferred", "eager" or "sync". It also accepts
// DALI's names: "default" is Eager, and "sync_cpu" and "sync_full" are Sync, because there is only
// one device. It fails with errs.Invalid for other names.
func ParseMode(name string) (Mode, error) {
	switch strings.ToLower(name) {
	case "deferred":
		return Deferred, nil
	case "eager", "default":
		return Eager, nil
	case "sync", "sync_cpu", "sync_full":
		return Sync, nil
	}
	return 0, &errs.Error{Kind: errs.Invalid, Op: "dynamic.ParseMode", Subject: name,
		Want: "deferred, eager, sync, sync_cpu or sync_full", Got: "another name"}
}

// scope holds what a context says about calls.
type scope struct {
	mode      Mode
	context   *EvalContext
	recording *recording // the recording of a loop that is being compiled, which records the calls; or nil
}

type scopeKey struct{}

// scopeOf returns the scope of ctx.
func scopeOf(ctx context.Context) scope {
	if s, ok := ctx.Value(scopeKey{}).(*scope); ok {
		return *s
	}
	return scope{mode: Eager}
}

// with returns ctx with a changed scope.
func (s scope) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, scopeKey{}, &s)
}

// evalContext returns the EvalContext of the scope.
func (s *scope) evalContext() *EvalContext {
	if s.context != nil {
		return s.context
	}
	return Default()
}

// WithMode returns a context in which calls are computed in mode m. An invalid m means Eager.
func WithMode(ctx context.Context, m Mode) context.Context {
	s := scopeOf(ctx)
	if s.mode = m; m < Deferred || m > Sync {
		s.mode = Eager
	}
	return s.in(ctx)
}

// ModeOf returns the mode of ctx, which is Eager unless WithMode set another.
func ModeOf(ctx context.Context) Mode { return scopeOf(ctx).mode }

// With returns a context whose calls e computes.
func With(ctx context.Context, e *EvalContext) context.Context {
	s := scopeOf(ctx)
	s.context = e
	return s.in(ctx)
}

// Current returns the EvalContext that With put into ctx, or Default.
func Current(ctx context.Context) *EvalContext {
	s := scopeOf(ctx)
	return s.evalContext()
}
