package dynamic_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/fn"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// claims is a PNG file of a few bytes whose header claims a square image.
func claims(side uint32) []byte {
	chunk := func(dst []byte, name string, body []byte) []byte {
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(body)))
		at := len(dst)
		dst = append(append(dst, name...), body...)
		return binary.BigEndian.AppendUint32(dst, crc32.ChecksumIEEE(dst[at:]))
	}
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, side), side)
	b := chunk([]byte("\x89PNG\r\n\x1a\n"), "IHDR", append(size, 1, 0, 0, 0, 0))
	return chunk(chunk(b, "IDAT", make([]byte, 64)), "IEND", nil)
}

// TestLimits goes beyond the limits of a context in every mode, in a loop and in a reader.
func TestLimits(t *testing.T) {
	const least = 1 << 20
	e := dynamic.NewEvalContext(dynamic.Options{Workers: 2, Limits: dynamic.Limits{MaxPixels: least, MaxBytes: 2 * least}})
	defer e.Close()
	if l := e.Limits(); l.MaxPixels != least || l.MaxBytes != 2*least || l.MaxTime != 0 {
		t.Errorf("limits %+v", l)
	}
	check := func(what string, err error, says ...string) {
		t.Helper()
		for _, s := range says {
			if !errors.Is(err, errs.Exhausted) || !strings.Contains(fmt.Sprint(err), s) {
				t.Errorf("%s: %v does not say %q", what, err, s)
			}
		}
	}
	file, large := claims(3000), make([]uint8, 3*least)
	for _, mode := range []dynamic.Mode{dynamic.Deferred, dynamic.Eager, dynamic.Sync} {
		ctx := dynamic.WithMode(dynamic.With(context.Background(), e), mode)
		image := fn.DecodersImage(ctx, dynamic.TensorOf(file), fn.DecodersImageArgs{})
		check("pixels", image.Evaluate(ctx), "decoders.image", "sample 0", "3000x3000", "Options.Limits.MaxPixels")
		check("bytes", dynamic.Cast(ctx, dynamic.TensorOf(large), tensor.Float32).Evaluate(ctx), "3145728 bytes",
			"Options.Limits.MaxBytes")
	}
	ctx := dynamic.With(context.Background(), e)
	loop, err := dynamic.Compile(ctx, nil, func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
		return []dynamic.Value{fn.DecodersImage(ctx, dynamic.TensorOf(file), fn.DecodersImageArgs{})}
	}, dynamic.LoopOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer loop.Close()
	_, err = loop.Next(ctx)
	check("a loop", err, "decoders.image", "3000x3000")

	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "x.png"), make([]byte, 2*least), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := readers.NewFile(opargs.ReadersFile{FileRoot: dir}, readers.Options{Limits: dynamic.Limits{MaxBytes: least}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Root(1).Next(ctx)
	check("a reader", err, "readers.file", "x.png", "2097152 bytes", "Options.Limits.MaxBytes")
}

// TestTotalBytes needs more at once than the total allows, in calls, in a loop and in a reader.
// Each sample is within its own limit.
func TestTotalBytes(t *testing.T) {
	const most = 1 << 20
	limits := dynamic.Limits{MaxTotalBytes: most}
	e := dynamic.NewEvalContext(dynamic.Options{Workers: 2, Limits: limits})
	defer e.Close()
	check := func(what string, err error, says ...string) {
		t.Helper()
		for _, s := range append(says, "Options.Limits.MaxTotalBytes, 1048576") {
			if !errors.Is(err, errs.Exhausted) || !strings.Contains(fmt.Sprint(err), s) {
				t.Errorf("%s: %v does not say %q", what, err, s)
			}
		}
	}
	large, small := make([]uint8, 150_000), make([]uint8, 10_000)
	for _, mode := range []dynamic.Mode{dynamic.Deferred, dynamic.Eager, dynamic.Sync} {
		ctx := dynamic.WithMode(dynamic.With(context.Background(), e), mode)
		check("a call", dynamic.Cast(ctx, dynamic.TensorOf(large), tensor.Float32).Evaluate(ctx), "cast",
			"at most 524288 bytes a batch", "one of 2 parts")
		if err := dynamic.Cast(ctx, dynamic.TensorOf(small), tensor.Float32).Evaluate(ctx); err != nil {
			t.Error(err)
		}
	}
	ctx := dynamic.With(context.Background(), e)
	for _, c := range []struct {
		data []uint8
		fits bool
	}{{large, false}, {small, true}} {
		loop, err := dynamic.Compile(ctx, nil, func(ctx context.Context, _ []dynamic.Value) []dynamic.Value {
			return []dynamic.Value{dynamic.Cast(ctx, dynamic.TensorOf(c.data), tensor.Float32)}
		}, dynamic.LoopOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, err = loop.Next(ctx); !c.fits {
				check("a loop", err, "cast", "at most 262144 bytes a batch", "one of 4 parts")
			} else if err != nil {
				t.Error(err)
			}
		}
		loop.Close()
	}

	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "x.bin"), make([]byte, most), 0o666); err != nil {
		t.Fatal(err)
	}
	r, err := readers.NewFile(opargs.ReadersFile{FileRoot: dir, FileFilters: []string{"*"}},
		readers.Options{Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = r.Root(1).Next(ctx)
	check("a reader", err, "readers.file", "x.bin", "1048576 bytes")
}
