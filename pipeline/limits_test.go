package pipeline_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/stream/faults"
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

// TestLimits goes beyond each limit at each place. The error names the sample, its size, the limit
// and the option, and no memory is taken.
func TestLimits(t *testing.T) {
	const least = 1 << 20
	picture := func(b *pipeline.Builder, files pipeline.Node) pipeline.Node {
		return fn.DecodersImage(b, files, fn.DecodersImageArgs{})
	}
	kept := func(_ *pipeline.Builder, files pipeline.Node) pipeline.Node { return files }
	for name, c := range map[string]struct {
		of     func(b *pipeline.Builder, files pipeline.Node) pipeline.Node
		file   []byte // in place of sample 5; nil: all samples are beyond
		limits pipeline.Limits
		says   []string
	}{
		"pixels":  {picture, claims(3000), pipeline.Limits{MaxPixels: least}, []string{"decoders.image", "3000x3000", "at most 1048576 pixels", "Options.Limits.MaxPixels"}},
		"image":   {picture, claims(3000), pipeline.Limits{MaxBytes: least}, []string{"decoders.image", "uint8[3000,3000,3]", "27000000", "at most 1048576 bytes", "Options.Limits.MaxBytes"}},
		"default": {picture, claims(1<<14 + 1), pipeline.Limits{}, []string{"decoders.image", "16385x16385", "Options.Limits.MaxPixels"}},
		"file":    {kept, make([]byte, 3*least), pipeline.Limits{MaxBytes: least}, []string{"readers.file", "3145728 bytes", "Options.Limits.MaxBytes"}},
		"resize": {func(b *pipeline.Builder, files pipeline.Node) pipeline.Node {
			return fn.Resize(b, picture(b, files), fn.ResizeArgs{Size: op.Const([]float64{1e6, 1e6})})[0]
		}, nil, pipeline.Limits{}, []string{"resize", "3000000000000 bytes", "Options.Limits.MaxBytes"}},
		"resize beyond addresses": {func(b *pipeline.Builder, files pipeline.Node) pipeline.Node {
			return fn.Resize(b, picture(b, files), fn.ResizeArgs{Size: op.Const([]float64{2e9, 2e9})})[0]
		}, nil, pipeline.Limits{MaxBytes: pipeline.NoLimit}, []string{"resize"}},
		"pad": {func(b *pipeline.Builder, files pipeline.Node) pipeline.Node {
			return b.Op("pad", op.Args{"axes": []int{0}, "shape": []int{2 * least}}, files)[0]
		}, nil, pipeline.Limits{MaxBytes: least}, []string{"pad", "uint8[2097152]", "Options.Limits.MaxBytes"}},
	} {
		dir := dataset(t, 12)
		if c.file != nil {
			// What the header claims, the file could hold.
			file := append(c.file, make([]byte, 64<<10)...)
			if name == "file" {
				file = c.file
			}
			if err := os.WriteFile(filepath.Join(dir, classes[1], "0004.jpg"), file, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		graph := func(b *pipeline.Builder) []pipeline.Node {
			files, labels := fn.ReadersFile(b, fn.ReadersFileArgs{Name: "r", FileRoot: dir})
			return []pipeline.Node{c.of(b, files), labels}
		}
		o := pipeline.Options{BatchSize: 4, Workers: 2, Limits: c.limits}
		p := start(t, o, graph)
		victim := []string{"position 0"}
		if c.file != nil {
			next(t, p)
			victim = []string{"position 5", "0004.jpg"}
		}
		var err error
		took := allocated(func() { _, err = p.Next(context.Background()) })
		if !errors.Is(err, errs.Exhausted) && name != "resize beyond addresses" || err == nil || took > least {
			t.Errorf("%s: took %d bytes: %v", name, took, err)
		}
		for _, says := range append(c.says, victim...) {
			if !strings.Contains(fmt.Sprint(err), says) {
				t.Errorf("%s: %v does not say %q", name, err, says)
			}
		}
		p.Close()
		if c.file == nil {
			continue
		}
		// A policy excuses it as any other error.
		o.OnError = map[string]faults.Action{"r": faults.Skip}
		p = start(t, o, graph)
		next(t, p)
		if d := cmp.Diff([]int64{4, 6, 7}, next(t, p).IDs); d != "" {
			t.Errorf("%s: ids (-want +got):\n%s", name, d)
		}
		if f := p.Faults(); f.Count != 1 || !strings.Contains(f.Last[0].Reason, c.says[0]) {
			t.Errorf("%s: %+v", name, f)
		}
		p.Close()
	}
}

// allocated returns the bytes that f takes from the heap, all together.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLimitsOfSources refuses what a source gives beyond the limit, for its sample, and goes on
// when that is smaller.
func TestLimitsOfSources(t *testing.T) {
	size := 10
	p := start(t, pipeline.Options{BatchSize: 2, Prefetch: pipeline.NoPrefetch,
		Limits: pipeline.Limits{MaxBytes: 1000}},
		external(pipeline.SampleFunc(func(_ context.Context, i pipeline.SampleInfo) ([]tensor.Tensor, error) {
			if i.IdxInBatch == 1 {
				return []tensor.Tensor{ints(make([]int32, size)...)}, nil
			}
			return []tensor.Tensor{ints(1)}, nil
		}), pipeline.SourceOptions{Name: "mine"}))
	next(t, p)
	size = 1000
	_, err := p.Next(context.Background())
	for _, says := range []string{"mine", "position 3", "int32[1000]", "4000 bytes", "at most 1000 bytes", "Options.Limits.MaxBytes"} {
		if !errors.Is(err, errs.Exhausted) || !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%v does not say %q", err, says)
		}
	}
	if err := p.Skip(); err != nil {
		t.Fatal(err)
	}
	size = 10
	next(t, p)
}

// TestTimeOfSamples has one sample take too long, by a clock that only the sample moves. It fails
// alone and by the policy of its reader. Positions, random numbers and the later batches are the
// same as in a run without a limit.
func TestTimeOfSamples(t *testing.T) {
	dir := dataset(t, 12)
	graph := func(slow bool) func(b *pipeline.Builder) []pipeline.Node {
		return func(b *pipeline.Builder) []pipeline.Node {
			files, labels := fn.ReadersFile(b, fn.ReadersFileArgs{Name: "r", FileRoot: dir})
			out := b.Call(pipeline.Function{Name: "mine", Deterministic: true, Outputs: []tensor.Spec{{DType: tensor.Int32}},
				Sample: func(in []tensor.Tensor) ([]tensor.Tensor, error) {
					label, err := tensor.Of[int32](in[1])
					if slow && err == nil && label[0] == 2 && in[0].Data[len(in[0].Data)-3]%2 == 0 {
						time.Sleep(3 * time.Second)
					}
					return in[1:], err
				}}, files, labels)
			return []pipeline.Node{out[0], fn.RandomUniform(b, fn.RandomUniformArgs{})}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		o := pipeline.Options{BatchSize: 4, Workers: 2, Limits: pipeline.Limits{MaxTime: time.Second}}
		p := start(t, o, graph(true))
		failed := int64(-1)
		for i := range int64(3) {
			if _, err := p.Next(context.Background()); err != nil {
				failed = i
				for _, says := range []string{"node mine", "position ", "at most 1s", "3s", "Options.Limits.MaxTime"} {
					if !errors.Is(err, errs.Exhausted) || !strings.Contains(err.Error(), says) {
						t.Errorf("%v does not say %q", err, says)
					}
				}
				break
			}
		}
		p.Close()
		if failed < 0 {
			t.Fatal("no sample took too long")
		}
		o.OnError = map[string]faults.Action{"r": faults.Skip}
		var told []string
		o.OnEvent = func(e pipeline.Event) {
			if e.Kind == pipeline.SampleOverdue {
				told = append(told, e.Err.Error())
			}
		}
		late, quick := start(t, o, graph(true)), start(t, o, graph(false))
		for range 5 {
			a, b := next(t, late), next(t, quick)
			if a.Position != b.Position {
				t.Errorf("position %d, want %d", a.Position, b.Position)
			}
			for i, id := range a.IDs {
				at := int(id - b.IDs[0])
				for o := range a.Outputs {
					if at < 0 || at >= len(b.IDs) || !bytes.Equal(a.Outputs[o].Sample(i).Data, b.Outputs[o].Sample(at).Data) {
						t.Errorf("sample %d is another", id)
					}
				}
			}
		}
		if late.Faults().Count == 0 || quick.Faults().Count != 0 {
			t.Errorf("%d and %d faults", late.Faults().Count, quick.Faults().Count)
		}
		if len(told) == 0 || !strings.Contains(told[0], "node mine, position ") ||
			!strings.Contains(told[0], "still under way") {
			t.Errorf("told %q", told)
		}
		late.Close()
		quick.Close()
	})
}

// TestLimitsAreOverriddenOneByOne keeps the limits of a definition that a start does not name.
func TestLimitsAreOverriddenOneByOne(t *testing.T) {
	o := pipeline.Options{Limits: pipeline.Limits{MaxPixels: 1, MaxBytes: 2,
		MaxTotalBytes: 5}}.Override(&pipeline.Options{Limits: pipeline.Limits{MaxBytes: 3, MaxTime: 4}})
	if want := (pipeline.Limits{MaxPixels: 1, MaxBytes: 3, MaxTotalBytes: 5, MaxTime: 4}); o.Limits != want {
		t.Errorf("%+v, want %+v", o.Limits, want)
	}
}
