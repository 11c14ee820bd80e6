package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

// TestTotalBytesAtEachPlace needs more than a part of the total at each place, though no sample is
// beyond its own limit. The error names operator, batch, size, limit and option. No policy excuses
// it, no memory is taken, and the next try says the same.
func TestTotalBytesAtEachPlace(t *testing.T) {
	const mebi = 1 << 20
	dir := dataset(t, 16)
	wide := func(b *pipeline.Builder, files pipeline.Node, size float64) pipeline.Node {
		images := fn.DecodersImage(b, files, fn.DecodersImageArgs{})
		return fn.Resize(b, images, fn.ResizeArgs{Size: op.Const([]float64{size, size})})[0]
	}
	for name, c := range map[string]struct {
		of    func(b *pipeline.Builder, files pipeline.Node) pipeline.Node
		total int64
		says  []string
	}{
		// 8 outputs of 3 MB, once in the frame and once in the batch: 48 MB in a part of 32/4.
		"outputs": {func(b *pipeline.Builder, files pipeline.Node) pipeline.Node { return wide(b, files, 1000) }, 32 * mebi,
			[]string{"resize", "the batch of 8 samples from position 0", "at most 8388608 bytes a batch", "one of 4 parts"}},
		// 3 MB to work in for each of 2 workers, in half of a part of 8/4.
		"work": {func(b *pipeline.Builder, files pipeline.Node) pipeline.Node {
			return fn.Resize(b, wide(b, files, 1000), fn.ResizeArgs{Size: op.Const([]float64{8, 8})})[0]
		}, 8 * mebi, []string{"resize", "at most 524288 bytes of working memory for each of 2 threads"}},
		"fixed": {func(b *pipeline.Builder, files pipeline.Node) pipeline.Node {
			return b.Call(pipeline.Function{Name: "mine", Deterministic: true, Outputs: []tensor.Spec{{DType: tensor.Uint8, Shape: []int{4 * mebi}}},
				Sample: func([]tensor.Tensor) ([]tensor.Tensor, error) { return nil, errors.New("must not be called") }}, files)[0]
		}, 32 * mebi, []string{"node mine", "33554464 bytes or more", "at most 8388608 bytes a batch"}},
		"files": {func(_ *pipeline.Builder, files pipeline.Node) pipeline.Node { return files }, 1024, []string{"readers.file", "at most 64 bytes read for a sample"}},
	} {
		for _, threads := range []int{1, 2, 5} {
			p := start(t, pipeline.Options{BatchSize: 8, Workers: threads, Limits: pipeline.Limits{MaxTotalBytes: c.total},
				OnError: map[string]faults.Action{"": faults.Skip}}, func(b *pipeline.Builder) []pipeline.Node {
				files, labels := fn.ReadersFile(b, fn.ReadersFileArgs{Name: "r", FileRoot: dir})
				return []pipeline.Node{c.of(b, files), labels}
			})
			for range 2 {
				var err error
				took := allocated(func() { _, err = p.Next(context.Background()) })
				if !errors.Is(err, errs.Exhausted) || took > 24*mebi { // three batches, each up to its part
					t.Fatalf("%s: took %d bytes: %v", name, took, err)
				}
				for _, says := range append(c.says, "Options.Limits.MaxTotalBytes", fmt.Sprint(c.total)) {
					if threads == 2 && !strings.Contains(err.Error(), says) {
						t.Errorf("%s: %v does not say %q", name, err, says)
					}
				}
			}
			if p.Faults().Count != 0 {
				t.Errorf("%s: a policy excused %+v", name, p.Faults())
			}
			p.Close()
		}
	}
}

// TestTotalBytesDecidesByTheBatch has one batch in five that needs more than its part. The same
// batch fails with any number of threads. The other batches are the same as without a limit, also
// after the failed one. A state from before the failed batch goes on with a larger limit.
func TestTotalBytesDecidesByTheBatch(t *testing.T) {
	dir := dataset(t, 20)
	large := strings.Repeat("x", 64<<10)
	for i := 8; i < 12; i++ { // the third batch
		names, err := filepath.Glob(filepath.Join(dir, "*", fmt.Sprintf("%04d.jpg", i)))
		if err != nil || len(names) != 1 {
			t.Fatal(names, err)
		}
		if err := os.WriteFile(names[0], []byte(large), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	graph := func(b *pipeline.Builder) []pipeline.Node {
		files, labels := fn.ReadersFile(b, fn.ReadersFileArgs{Name: "r", FileRoot: dir})
		return []pipeline.Node{files, labels, fn.RandomUniform(b, fn.RandomUniformArgs{})}
	}
	type seen struct {
		Position int64
		Error    string
		Data     []string
	}
	run := func(o pipeline.Options) (all []seen, before []byte) {
		o.BatchSize, o.Seed = 4, 3
		p := start(t, o, graph)
		defer p.Close()
		for i := range 10 {
			b, err := p.Next(context.Background())
			if err != nil {
				if before == nil {
					before = save(t, p)
				}
				all = append(all, seen{Position: int64(4 * i), Error: errs.KindOf(err).Error()})
				if err := p.Skip(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			s := seen{Position: b.Position}
			for _, out := range b.Outputs {
				s.Data = append(s.Data, string(out.Data))
			}
			all = append(all, s)
		}
		return all, before
	}
	free, _ := run(pipeline.Options{})
	var first []seen
	for _, threads := range []int{1, 2, 7} {
		// A part is 256 KiB; the batch needs twice 4 files of 64 KiB.
		limited, before := run(pipeline.Options{Workers: threads, Limits: pipeline.Limits{MaxTotalBytes: 1 << 20}})
		if first == nil {
			first = limited
		}
		if d := cmp.Diff(first, limited); d != "" {
			t.Errorf("%d threads decide otherwise:\n%s", threads, d)
		}
		failed := 0
		for i := range limited {
			if limited[i].Error != "" {
				failed++
			} else if !cmp.Equal(limited[i], free[i]) {
				t.Errorf("batch %d is another", i)
			}
		}
		if failed != 2 { // of two epochs
			t.Errorf("%d batches failed", failed)
		}
		p := start(t, pipeline.Options{BatchSize: 4, Seed: 3, Limits: pipeline.Limits{MaxTotalBytes: 8 << 20}}, graph)
		if err := p.SetState(before); err != nil {
			t.Fatal(err)
		}
		if b := next(t, p); string(b.Outputs[0].Data) != free[b.Position/4].Data[0] {
			t.Error("a larger limit goes on otherwise")
		}
		p.Close()
	}
}

// TestTotalBytesOfSources refuses what sources give for a batch, and goes on when that is smaller.
func TestTotalBytesOfSources(t *testing.T) {
	size := 10
	p := start(t, pipeline.Options{BatchSize: 4, Prefetch: pipeline.NoPrefetch,
		Limits: pipeline.Limits{MaxTotalBytes: 20_000}},
		external(pipeline.SampleFunc(func(context.Context, pipeline.SampleInfo) ([]tensor.Tensor, error) {
			return []tensor.Tensor{ints(make([]int32, size)...)}, nil
		}), pipeline.SourceOptions{Name: "mine"}))
	next(t, p)
	size = 1000
	_, err := p.Next(context.Background())
	for _, says := range []string{"node mine", "the batch of 4 samples from position 4", "at most 10000 bytes", "Options.Limits.MaxTotalBytes"} {
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

// TestTotalBytesWithPolicies lowers the total step by step, over pictures one of which is damaged,
// through operators of samples and of the whole batch. Which batches fail is the same in every run,
// and the others are those without a limit, with every policy.
func TestTotalBytesWithPolicies(t *testing.T) {
	dir := dataset(t, 16)
	names, err := filepath.Glob(filepath.Join(dir, "*", "0005.jpg"))
	if err != nil || len(names) != 1 {
		t.Fatal(names, err)
	}
	if err := os.WriteFile(names[0], []byte("damaged"), 0o666); err != nil {
		t.Fatal(err)
	}
	graph := func(b *pipeline.Builder) []pipeline.Node {
		files, labels := fn.ReadersFile(b, fn.ReadersFileArgs{Name: "r", FileRoot: dir})
		images := fn.DecodersImage(b, files, fn.DecodersImageArgs{})
		return []pipeline.Node{images, b.Op("pad", op.Args{}, fn.Flip(b, images, fn.FlipArgs{}))[0], labels}
	}
	run := func(policy faults.Action, total int64) (all []string) {
		p := start(t, pipeline.Options{BatchSize: 4, Workers: 4, OnError: map[string]faults.Action{"": policy}, Limits: pipeline.Limits{MaxTotalBytes: total}}, graph)
		defer p.Close()
		for range 5 {
			b, err := p.Next(context.Background())
			if err != nil {
				if !errors.Is(err, errs.Exhausted) {
					t.Fatal(err)
				}
				all = append(all, "")
				if err := p.Skip(); err != nil {
					t.Fatal(err)
				}
				continue
			}
			all = append(all, fmt.Sprint(b.Position, b.IDs, b.Outputs[0].Dims, b.Outputs[0].Data, b.Outputs[1].Data,
				b.Outputs[2].Data))
		}
		return all
	}
	some := false
	for _, policy := range []faults.Action{faults.Skip, faults.Zero, faults.Replace} {
		free := run(policy, 0)
		for total := int64(1 << 19); total > 1<<15; total -= total / 6 {
			first := run(policy, total)
			if d := cmp.Diff(first, run(policy, total)); d != "" {
				t.Errorf("%v, %d bytes: another run decides otherwise", policy, total)
			}
			failed := 0
			for i := range first {
				if first[i] == "" {
					failed++
				} else if first[i] != free[i] {
					t.Errorf("%v, %d bytes: batch %d is another", policy, total, i)
				}
			}
			some = some || failed > 0 && failed < len(first)
		}
	}
	if !some {
		t.Error("no total let some batches fail and not all")
	}
}
