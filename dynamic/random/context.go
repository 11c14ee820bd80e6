package random

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/bivouac-ml/bivouac/dynamic"
)

type contextKey struct{}

// With returns a context whose random functions, when they are given no generator, draw
// from g.
func With(ctx context.Context, g *RNG) context.Context {
	return context.WithValue(ctx, contextKey{}, g)
}

// From returns the generator that [With] put into ctx, or else the generator of its
// [dynamic.EvalContext], which begins at a place that nobody can foresee.
func From(ctx context.Context) *RNG {
	if g, ok := ctx.Value(contextKey{}).(*RNG); ok && g != nil {
		return g
	}
	return dynamic.Current(ctx).Attach(contextKey{}, func() any { return New(entropy()) }).(*RNG)
}

// Or returns g, or where it is nil the generator of ctx.
func Or(ctx context.Context, g *RNG) *RNG {
	if g == nil {
		return From(ctx)
	}
	return g
}

// entropy is a number from the system.
func entropy() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
