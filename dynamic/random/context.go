package random

import (
	"context"
	"crypto/rand"
	"encoding/binary"

	"github.com/bivouac-ml/bivouac/dynamic"
)

type contextKey struct{}

// With returns a context in which random functions without a generator draw from g.
func With(ctx context.Context, g *RNG) context.Context {
	return context.WithValue(ctx, contextKey{}, g)
}

// From returns the generator that [With] put into ctx. Without one it returns the generator of the
// [dynamic.EvalContext] of ctx, which begins at a random place.
func From(ctx context.Context) *RNG {
	if g, ok := ctx.Value(contextKey{}).(*RNG); ok && g != nil {
		return g
	}
	return dynamic.Current(ctx).Attach(contextKey{}, func() any { return New(entropy()) }).(*RNG)
}

// Or returns g, or the generator of ctx if g is nil.
func Or(ctx context.Context, g *RNG) *RNG {
	if g == nil {
		return From(ctx)
	}
	return g
}

// entropy returns a random number from the operating system.
func entropy() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}
