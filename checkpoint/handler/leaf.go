package handler

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

// Saved is a leaf to save.
type Saved[L any] struct {
	Path  tree.Path
	Value L
}

// Name returns the leaf's name in Orbax, its keys joined with dots.
func (s Saved[L]) Name() string { return s.Path.Param() }

// Wanted is a leaf to load.
type Wanted[A any] struct {
	Path     tree.Path
	Abstract *A // nil = as it was saved
}

// Name returns the leaf's name in Orbax, its keys joined with dots.
func (w Wanted[A]) Name() string { return w.Path.Param() }

// LeafHandler saves and loads the leaves of type L of a tree, where L is not a type that trees
// know. A describes one without its data. Methods get all leaves of the type at once, in the order
// of the tree, and may be called from several goroutines. The directory is the item's; files of the
// tree have other names.
type LeafHandler[L, A any] interface {
	// TypeString names the type in the tree's metadata: dotted, unique, never changed.
	TypeString() string
	// Serialize makes itself independent of the leaves and returns how to write them.
	Serialize(ctx context.Context, leaves []Saved[L]) (Commit, error)
	// Deserialize returns the leaves that are wanted, in their order.
	Deserialize(ctx context.Context, dir Reader, leaves []Wanted[A]) ([]L, error)
	// Metadata describes these leaves, in their order, without reading them whole.
	Metadata(ctx context.Context, dir Reader, leaves []Wanted[A]) ([]A, error)
	// Finalize is called once for each save, after the Commit of every process.
	Finalize(ctx context.Context, dir Writer) error
}

// AnyLeaf is a LeafHandler without its types. [Leaf] makes one.
type AnyLeaf struct {
	typeString     string
	leaf, abstract reflect.Type
	serialize      func(context.Context, []Saved[any]) (Commit, error)
	deserialize    func(context.Context, Reader, []Wanted[any]) ([]any, error)
	metadata       func(context.Context, Reader, []Wanted[any]) ([]any, error)
	finalize       func(context.Context, Writer) error
}

// Leaf erases the types of h. Registries refuse the AnyLeaf of a nil h.
func Leaf[L, A any](h LeafHandler[L, A]) *AnyLeaf {
	if any(h) == nil {
		return &AnyLeaf{leaf: reflect.TypeFor[L](), abstract: reflect.TypeFor[A]()}
	}
	name := h.TypeString()
	return &AnyLeaf{
		typeString: name,
		leaf:       reflect.TypeFor[L](),
		abstract:   reflect.TypeFor[A](),
		serialize: func(ctx context.Context, leaves []Saved[any]) (Commit, error) {
			typed := make([]Saved[L], len(leaves))
			for i, l := range leaves {
				v, ok := l.Value.(L)
				if !ok {
					return nil, leafError(l.Path, reflect.TypeFor[L](), l.Value)
				}
				typed[i] = Saved[L]{l.Path, v}
			}
			return h.Serialize(ctx, typed)
		},
		deserialize: func(ctx context.Context, dir Reader, leaves []Wanted[any]) ([]any, error) {
			typed, err := wanted[A](leaves)
			if err != nil {
				return nil, err
			}
			out, err := h.Deserialize(ctx, dir, typed)
			return erased(out, len(leaves), err)
		},
		metadata: func(ctx context.Context, dir Reader, leaves []Wanted[any]) ([]any, error) {
			typed, err := wanted[A](leaves)
			if err != nil {
				return nil, err
			}
			out, err := h.Metadata(ctx, dir, typed)
			return erased(out, len(leaves), err)
		},
		finalize: h.Finalize,
	}
}

func wanted[A any](leaves []Wanted[any]) ([]Wanted[A], error) {
	typed := make([]Wanted[A], len(leaves))
	for i, l := range leaves {
		typed[i].Path = l.Path
		if l.Abstract == nil {
			continue
		}
		a, ok := (*l.Abstract).(A)
		if !ok {
			return nil, leafError(l.Path, reflect.TypeFor[A](), *l.Abstract)
		}
		typed[i].Abstract = &a
	}
	return typed, nil
}

func erased[T any](from []T, n int, err error) ([]any, error) {
	if err != nil {
		return nil, err
	}
	if len(from) != n {
		return nil, &errs.Error{Kind: errs.Mismatch, Want: fmt.Sprintf("%d leaves", n), Got: fmt.Sprint(len(from)),
			Remedy: "the handler is at fault"}
	}
	out := make([]any, n)
	for i, v := range from {
		out[i] = v
	}
	return out, nil
}

func leafError(p tree.Path, want reflect.Type, got any) error {
	return &errs.Error{Kind: errs.Mismatch, Subject: "leaf " + strconv.Quote(p.Param()), Want: want.String(),
		Got: fmt.Sprintf("%T", got)}
}

// TypeString returns the handler's type string.
func (h *AnyLeaf) TypeString() string { return h.typeString }

// LeafType returns the type of the leaves.
func (h *AnyLeaf) LeafType() reflect.Type { return h.leaf }

// AbstractType returns the type that describes them.
func (h *AnyLeaf) AbstractType() reflect.Type { return h.abstract }

// Serialize calls Serialize of the handler. A leaf of another type is errs.Mismatch. Errors, here
// and in the Commit, name the handler and leaves; a panic is errs.Invalid. The Commit is nil if
// there is nothing to write.
func (h *AnyLeaf) Serialize(ctx context.Context, leaves []Saved[any]) (commit Commit, err error) {
	err = h.call("Serialize", func() error {
		commit, err = h.serialize(ctx, leaves)
		return err
	})
	if err != nil || commit == nil {
		return nil, errs.Wrap("", namesOf(leaves, Saved[any].Name), err)
	}
	return protected(h.String(), commit), nil
}

// Deserialize calls Deserialize of the handler. An abstract value of another type, and a handler
// that returns more or fewer leaves, is errs.Mismatch. Errors name the handler and leaves; a panic
// is errs.Invalid.
func (h *AnyLeaf) Deserialize(ctx context.Context, dir Reader, leaves []Wanted[any]) (out []any, err error) {
	err = h.call("Deserialize", func() error {
		out, err = h.deserialize(ctx, dir, leaves)
		return err
	})
	if err != nil {
		return nil, errs.Wrap("", namesOf(leaves, Wanted[any].Name), err)
	}
	return out, nil
}

// Metadata calls Metadata of the handler and reports errors as Deserialize does.
func (h *AnyLeaf) Metadata(ctx context.Context, dir Reader, leaves []Wanted[any]) (out []any, err error) {
	err = h.call("Metadata", func() error {
		out, err = h.metadata(ctx, dir, leaves)
		return err
	})
	if err != nil {
		return nil, errs.Wrap("", namesOf(leaves, Wanted[any].Name), err)
	}
	return out, nil
}

// Finalize calls Finalize of the handler and reports errors as the Commit of Serialize does.
func (h *AnyLeaf) Finalize(ctx context.Context, dir Writer) error {
	return h.call("Finalize", func() error { return h.finalize(ctx, dir) })
}

// String names the handler.
func (h *AnyLeaf) String() string { return "leaf handler " + h.typeString }

func (h *AnyLeaf) call(method string, do func() error) error { return protect(h.String(), method, do) }

// namesOf lists leaves for messages.
func namesOf[T any](leaves []T, name func(T) string) string {
	const most = 3
	var names []string
	for _, l := range leaves[:min(len(leaves), most)] {
		names = append(names, strconv.Quote(name(l)))
	}
	if n := len(leaves) - most; n > 0 {
		names = append(names, strconv.Itoa(n)+" more")
	}
	return "leaf " + strings.Join(names, ", ")
}
