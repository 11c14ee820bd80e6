package errs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&errs.Error{}, ""},
		{&errs.Error{Kind: errs.Corrupt}, "corrupt"},
		{&errs.Error{Kind: errs.Mismatch, Op: "op", Subject: "w", Want: "2", Got: "3", Remedy: "do that"}, "op: w: mismatch: want 2, got 3 (do that)"},
		{&errs.Error{Kind: errs.Invalid, Op: "op", Want: "2"}, "op: invalid: want 2"},
		{&errs.Error{Kind: errs.Invalid, Op: "op", Got: "3"}, "op: invalid: 3"},
		{&errs.Error{Op: "op", Err: fs.ErrNotExist}, "op: file does not exist"},
		{errs.Wrap("outer", "x", &errs.Error{Kind: errs.Closed, Op: "inner"}), "outer: x: inner: closed"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if err := errs.Wrap("op", "", nil); err != nil {
		t.Error(err)
	}
}

func TestKinds(t *testing.T) {
	inner := &errs.Error{Kind: errs.Corrupt, Err: fs.ErrClosed}
	err := fmt.Errorf("text: %w", errs.Wrap("op", "subject", inner))
	if !errors.Is(err, errs.Corrupt) || errors.Is(err, errs.Closed) || !errors.Is(err, fs.ErrClosed) {
		t.Error("errors.Is")
	}
	var e *errs.Error
	if !errors.As(err, &e) || e.Subject != "subject" {
		t.Error("errors.As")
	}
	for _, c := range []struct {
		err  error
		want errs.Kind
	}{
		{nil, errs.Other},
		{fs.ErrClosed, errs.Other},
		{err, errs.Corrupt},
		{&errs.Error{Kind: errs.Invalid, Err: inner}, errs.Invalid},
		{errs.Wrap("op", "", fs.ErrClosed), errs.Other},
		{errors.Join(fs.ErrClosed, inner), errs.Corrupt},
	} {
		if got := errs.KindOf(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
	if errors.Is(&errs.Error{}, errs.Other) {
		t.Error("Other matches")
	}
	seen := map[string]bool{}
	for k := errs.Other; k <= errs.Sequence; k++ {
		if s := k.String(); seen[s] || s == "" || s != k.Error() {
			t.Errorf("kind %d: %q", k, s)
		}
		seen[k.String()] = true
	}
	if errs.Kind(200).String() != "error" {
		t.Error("unknown kind")
	}
}

func Example() {
	load := func() error {
		return &errs.Error{Kind: errs.Mismatch, Op: "load", Subject: "layers.0.w", Want: "float32[2]", Got: "float32[3]"}
	}
	err := errs.Wrap("resume", "run/100", load())
	fmt.Println(err)
	fmt.Println(errors.Is(err, errs.Mismatch), errors.Is(err, errs.NotFound))
	// Output:
	// resume: run/100: load: layers.0.w: mismatch: want float32[2], got float32[3]
	// true false
}
