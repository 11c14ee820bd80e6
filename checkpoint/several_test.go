package checkpoint_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/zarr"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// several are processes that save together, each with a store of its own on one file
// system.
type several struct {
	n       int
	primary int
	barrier *crewtest.Barrier
	fsys    vfs.FS
}

func together(n int, fsys vfs.FS) *several {
	return &several{n: n, barrier: crewtest.NewBarrier(n, nil), fsys: fsys}
}

// options returns the options of process p, in addition to o.
func (s *several) options(p int, o checkpoint.SaveOptions) *checkpoint.SaveOptions {
	o.Store = local.New(s.fsys, "/", nil)
	o.Multiprocessing = options.Multiprocessing{
		PrimaryHost: new(options.Host(s.primary)), ProcessIndex: new(options.Host(p)), ProcessCount: s.n, Barrier: s.barrier.Of(p),
	}
	return &o
}

// save has each process save what state gives it.
func (s *several) save(m manner, state func(p int) any, o checkpoint.SaveOptions) []error {
	return crewtest.Run(s.n, func(p int) error {
		if m == waiting {
			return checkpoint.Save(context.Background(), "c", state(p), s.options(p, o))
		}
		own := s.options(p, o)
		if m == handingOver {
			own.Release, own.Watch = func() {}, true
		}
		r, err := checkpoint.SaveAsync(context.Background(), "c", state(p), own)
		if err == nil {
			_, err = r.Result(context.Background())
		}
		return err
	})
}

func failed(list []error) error { return errors.Join(list...) }

// dealt deals the parts of an array out: at least one process has each.
func dealt(t *rapid.T, whole checkpoint.Shards, n int) []checkpoint.Shards {
	out := make([]checkpoint.Shards, n)
	for p := range out {
		out[p] = checkpoint.Shards{DType: whole.DType, Shape: whole.Shape}
	}
	for _, part := range whole.Parts {
		for _, p := range rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 1, n, rapid.ID[int]).Draw(t, "owners") {
			out[p].Parts = append(out[p].Parts, part)
		}
	}
	return out
}

// drawn is a tree, and what each of n processes has of it.
func drawn(t *rapid.T, n int) (whole *tree.Node, has []*tree.Node) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	whole, has = tree.NewDict(), make([]*tree.Node, n)
	for p := range has {
		has[p] = tree.NewDict()
	}
	for i := range rapid.IntRange(1, 5).Draw(t, "leaves") {
		name := fmt.Sprint("leaf", i)
		if rapid.Bool().Draw(t, "whole") {
			v := rapid.SampledFrom([]any{3, "text", nil, 2.5, noise(rng, tensor.Float32, 700)}).Draw(t, "value")
			whole.Set(name, tree.NewLeaf(v))
			for p := range has {
				has[p].Set(name, tree.NewLeaf(v))
			}
			continue
		}
		x := noise(rng, rapid.SampledFrom([]tensor.DType{tensor.Float32, tensor.Uint8, tensor.BFloat16}).Draw(t, "dtype"),
			rapid.SliceOfN(rapid.IntRange(1, 40), 0, 3).Draw(t, "shape")...)
		cuts := make([][]int, len(x.Shape))
		for k, most := range x.Shape {
			for at := rapid.IntRange(1, most).Draw(t, "cut"); at < most; at += rapid.IntRange(1, most).Draw(t, "cut") {
				cuts[k] = append(cuts[k], at)
			}
		}
		whole.Set(name, tree.NewLeaf(x))
		for p, s := range dealt(t, divide(x, cuts), n) {
			has[p].Set(name, &tree.Node{Value: s})
		}
	}
	return whole, has
}

// What several processes save, each its shards of random arrays, is what one process
// saves, however it is dealt out; any box of it loads, and it is verified.
func TestSeveralProcessesAreOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		n := rapid.IntRange(1, 4).Draw(t, "processes")
		s := together(n, vfstest.NewMem())
		s.primary = rapid.IntRange(0, n-1).Draw(t, "primary")
		whole, has := drawn(t, n)
		var o checkpoint.SaveOptions
		o.Layout = rapid.SampledFrom([]options.Layout{options.OCDBTZarr3, options.OCDBTZarr2}).Draw(t, "layout")
		o.Compression = rapid.SampledFrom([]options.Compression{options.DefaultCompression, options.Zstd}).Draw(t,
			"compression")
		o.Array.Saving.Storage.ChunkByteSize = rapid.SampledFrom([]int64{0, 64, 700}).Draw(t, "chunks")
		if rapid.Bool().Draw(t, "dedup") {
			o.Base = "c"
		}
		o.Parity = rapid.SampledFrom([]int{0, 3}).Draw(t, "parity")
		if rapid.Bool().Draw(t, "replica parallel") {
			o.Array.Saving.UseReplicaParallel = options.On
			o.Array.Saving.MinSliceBytesForReplicaParallel = rapid.SampledFrom([]int64{0, 1, 100}).Draw(t, "slice")
			o.Array.Saving.MaxReplicasForReplicaParallel = rapid.IntRange(0, 4).Draw(t, "most")
		}
		m := rapid.SampledFrom([]manner{waiting, copying, handingOver}).Draw(t, "manner")
		if err := failed(s.save(m, func(p int) any { return has[p] }, o)); err != nil {
			t.Fatal(err)
		}
		st := local.New(s.fsys, "/", nil)
		got, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		if d := tree.Diff(whole, got); len(d) > 0 {
			t.Fatalf("loaded differs:\n%s", tree.FormatDiff(d))
		}
		for _, e := range tree.Flatten(whole) {
			x, ok := e.Node.Tensor()
			if !ok {
				continue
			}
			box := zarr.WholeBox(x.Shape)
			for k, size := range x.Shape {
				box.Origin[k] = rapid.IntRange(0, size-1).Draw(t, "origin")
				box.Shape = slices.Clone(box.Shape)
				box.Shape[k] = rapid.IntRange(1, size-box.Origin[k]).Draw(t, "length")
			}
			want := tensor.New(x.DType, box.Shape...)
			zarr.CopyBox(box, want.Data, zarr.WholeBox(x.Shape), x.Data, x.DType.Size())
			n, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: st,
				Want: func(l checkpoint.LeafInfo) checkpoint.Want {
					if l.Path.String() != e.Path.String() {
						return checkpoint.Want{}
					}
					return checkpoint.Want{Boxes: []checkpoint.Box{{Origin: box.Origin, Shape: box.Shape}}}
				}})
			if err != nil {
				t.Fatal(err)
			}
			if d := tree.Diff(tree.NewLeaf(want), n.At(e.Path)); len(d) > 0 {
				t.Fatalf("box %v of %s differs:\n%s", box, e.Path, tree.FormatDiff(d))
			}
		}
		report, err := integrity.Verify(ctx, "c", &integrity.VerifyOptions{Store: st})
		if err != nil || !report.OK() {
			t.Fatalf("%+v, %v", report, err)
		}
		if left := rooted(t, s.fsys); !slices.Equal(left, []string{"c"}) {
			t.Fatalf("%q is there", left)
		}
	})
}

// rooted lists the root of a file system.
func rooted(t interface{ Fatal(...any) }, fsys vfs.FS) (out []string) {
	list, err := fsys.ReadDir("/")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

// rows are the shards of an array of 4 rows for two processes, in the manner of a
// training job: each process has two of them.
func rows(p int, v float64) any {
	part := make([]float64, 2*300)
	for i := range part {
		part[i] = v + float64(p*len(part)+i)
	}
	return checkpoint.Shards{DType: tensor.Float64, Shape: tensor.Shape{4, 300},
		Parts: []checkpoint.Shard{{Origin: []int{2 * p, 0}, Data: tensor.FromSlice(part, 2, 300)}}}
}

func job(p int, v float64) any {
	return map[string]any{"w": rows(p, v), "step": v, "bias": []float64{v, v, v}}
}

// Where processes do not have the same tree, the same options, or shards that tile an
// array, the save fails on each of them, and the error names the leaf and both sides.
func TestProcessesThatDisagree(t *testing.T) {
	for name, c := range map[string]struct {
		state func(p int) any
		opts  func(p int, o *checkpoint.SaveOptions)
		kind  errs.Kind
		want  []string
	}{
		"shape": {state: func(p int) any { return map[string]any{"a": make([]float64, 3+p)} }, kind: errs.Mismatch,
			want: []string{"leaf state: a", "float64[3], as process 0", "float64[4] on process 1"}},
		"kind": {state: func(p int) any { return map[string]any{"a": []any{1, rows(p, 1)}[p]} }, kind: errs.Mismatch,
			want: []string{"leaf state: a", "int64, as process 0", "float64[4,300] in shards on process 1"}},
		"missing": {state: func(p int) any {
			return []map[string]any{{"a": 1, "b": map[string]any{"c": 1.5}}, {"a": 1}}[p]
		}, kind: errs.Mismatch, want: []string{"leaf state: b.c", "float64, as process 0", "nothing on process 1"}},
		"more": {state: func(p int) any { return []map[string]any{{"a": 1}, {"a": 1, "b": 2}}[p] }, kind: errs.Mismatch,
			want: []string{"leaf state: b", "nothing, as process 0", "int64 on process 1"}},
		"gap": {state: func(p int) any {
			x := rows(p, 1).(checkpoint.Shards)
			if p == 1 {
				x.Parts = nil
			}
			return map[string]any{"w": x}
		}, kind: errs.Invalid, want: []string{"leaf state: w", "[2:4,0:300]", "process 0 has 1, process 1 has 0"}},
		"overlap": {state: func(p int) any {
			x := rows(p, 1).(checkpoint.Shards)
			x.Parts[0].Origin[0] = p
			return map[string]any{"w": x}
		}, kind: errs.Invalid, want: []string{"leaf state: w", "overlap", "process 0 has 1, process 1 has 1"}},
		"one fails": {state: func(p int) any { return job(p, 1) }, opts: func(p int, o *checkpoint.SaveOptions) { o.Custom = []any{nil, "no object"}[p] },
			kind: errs.Invalid, want: []string{"SaveOptions.Custom"}},
		"one fails early": {state: func(p int) any { return []any{job(p, 1), nil}[p] }, kind: errs.Invalid, want: []string{"want a value"}},
		"options": {state: func(p int) any { return job(p, 1) }, opts: func(p int, o *checkpoint.SaveOptions) {
			o.Compression = []options.Compression{options.Uncompressed, options.Zstd}[p]
		},
			kind: errs.Mismatch, want: []string{"Compression"}},
		"layout": {state: func(p int) any { return job(p, 1) }, opts: func(p int, o *checkpoint.SaveOptions) { o.Layout = options.PlainZarr3 }, kind: errs.Unsupported, want: []string{"bivouac convert"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := together(2, vfstest.NewMem())
			for p, err := range crewtest.Run(2, func(p int) error {
				o := s.options(p, checkpoint.SaveOptions{})
				if c.opts != nil {
					c.opts(p, o)
				}
				return checkpoint.Save(t.Context(), "c", c.state(p), o)
			}) {
				if errs.KindOf(err) != c.kind {
					t.Errorf("process %d: %v", p, err)
				}
				for _, w := range c.want {
					if !strings.Contains(fmt.Sprint(err), w) {
						t.Errorf("process %d: %v, want %q", p, err, w)
					}
				}
			}
			if left := rooted(t, s.fsys); len(left) > 0 {
				t.Errorf("%q is there", left)
			}
		})
	}
}

// Barriers have the prefix, the name and the operation in their keys, in one order.
func TestBarrierKeys(t *testing.T) {
	s := together(2, vfstest.NewMem())
	for _, err := range crewtest.Run(2, func(p int) error {
		o := s.options(p, checkpoint.SaveOptions{})
		o.Multiprocessing.BarrierSyncKeyPrefix = "run7."
		return checkpoint.Save(t.Context(), "c", job(p, 1), o)
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"run7.c:begin", "run7.c:plan", "run7.c:written", "run7.c:end", "run7.c:leave"}
	if d := cmp.Diff(want, s.barrier.Keys()); d != "" {
		t.Error(d)
	}
}

// Without a barrier several processes cannot save: that is said before anything.
func TestNoBarrier(t *testing.T) {
	o := together(2, vfstest.NewMem()).options(0, checkpoint.SaveOptions{})
	o.Multiprocessing.Barrier = nil
	err := checkpoint.Save(t.Context(), "c", job(0, 1), o)
	if errs.KindOf(err) != errs.Invalid || !strings.Contains(err.Error(), "a barrier for more than one process") {
		t.Error(err)
	}
}

// Items that are not trees, and leaves that are whole, come from the primary process, on whichever
// host it runs.
func TestPrimaryHost(t *testing.T) {
	s := together(3, vfstest.NewMem())
	s.primary = 2
	for p, err := range crewtest.Run(3, func(p int) error {
		items := map[string]any{"state": map[string]any{"x": p}}
		if p == 2 {
			items["note"] = json.RawMessage(`{"by":2}`)
		}
		return checkpoint.SaveCheckpointables(t.Context(), "c", items, s.options(p, checkpoint.SaveOptions{}))
	}) {
		if err != nil {
			t.Fatal(p, err)
		}
	}
	got, err := checkpoint.LoadCheckpointables(t.Context(), "c",
		&checkpoint.LoadOptions{Store: local.New(s.fsys, "/", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if x := got["state"].(*tree.Node).Get("x").Value; x != int64(2) || fmt.Sprintf("%s", got["note"]) != `{"by":2}` {
		t.Errorf("%v, %s", x, got["note"])
	}
}

// Where every process is primary, each makes a whole checkpoint on a file system of
// its own, and nobody waits.
func TestEveryHost(t *testing.T) {
	for p := range 2 {
		fsys := vfstest.NewMem()
		o := together(2, fsys).options(p, checkpoint.SaveOptions{})
		o.Multiprocessing.PrimaryHost, o.Multiprocessing.Barrier = new(options.EveryHost), nil
		if err := checkpoint.Save(t.Context(), "c", map[string]any{"x": p}, o); err != nil {
			t.Fatal(err)
		}
		n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: local.New(fsys, "/", nil)})
		if err != nil || n.Get("x").Value != int64(p) {
			t.Fatal(n, err)
		}
	}
}

// A process that is not active returns at once, and has written nothing.
func TestActiveProcesses(t *testing.T) {
	s := together(3, vfstest.NewMem())
	s.barrier = crewtest.NewBarrier(2, nil)
	released := false
	for p, err := range crewtest.Run(3, func(p int) error {
		o := s.options(p, checkpoint.SaveOptions{})
		o.Multiprocessing.ActiveProcesses = []int{2, 0}
		if p != 1 {
			return checkpoint.Save(t.Context(), "c", job(p/2, 1), o)
		}
		o.Release = func() { released = true }
		r, err := checkpoint.SaveAsync(t.Context(), "c", "what is no tree", o)
		if err == nil {
			_, err = r.Result(t.Context())
		}
		return err
	}) {
		if err != nil {
			t.Fatal(p, err)
		}
	}
	n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: local.New(s.fsys, "/", nil)})
	if err != nil || n.Get("w").Value.(tensor.Tensor).Len() != 1200 || !released {
		t.Fatal(err)
	}
}

// Options of single leaves that differ cannot be seen before: they are refused when
// what was written is put together, and nothing becomes visible.
func TestLeavesStoredOtherwise(t *testing.T) {
	s := together(2, vfstest.NewMem())
	for p, err := range crewtest.Run(2, func(p int) error {
		o := s.options(p, checkpoint.SaveOptions{})
		if p == 1 {
			o.LeafStorage = []options.LeafStorage{{Match: "w", Compression: options.Zstd}}
		}
		return checkpoint.Save(t.Context(), "c", job(p, 1), o)
	}) {
		if errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), "w/zarr.json") {
			t.Errorf("process %d: %v", p, err)
		}
	}
	if left := rooted(t, s.fsys); len(left) > 0 {
		t.Errorf("%q is there", left)
	}
}

// All that sign give the key: the checkpoint has one signature, of all that was written.
func TestSeveralProcessesSign(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	s := together(2, vfstest.NewMem())
	var o checkpoint.SaveOptions
	o.Signing, o.Label = private, "both"
	if err := failed(s.save(waiting, func(p int) any { return job(p, 1) }, o)); err != nil {
		t.Fatal(err)
	}
	var l checkpoint.LoadOptions
	l.Store, l.Verification, l.Label = local.New(s.fsys, "/", nil), public, "both"
	if _, err := checkpoint.Load(t.Context(), "c", &l); err != nil {
		t.Fatal(err)
	}
	for p, err := range crewtest.Run(2, func(p int) error {
		own := s.options(p, checkpoint.SaveOptions{Overwrite: true})
		if p == 0 {
			own.Signing = private
		}
		return checkpoint.Save(t.Context(), "c", job(p, 2), own)
	}) {
		if errs.KindOf(err) != errs.Mismatch || !strings.Contains(err.Error(), "Signing") {
			t.Errorf("process %d: %v", p, err)
		}
	}
}

// Several processes add to a checkpoint as one does.
func TestSeveralProcessesUpdate(t *testing.T) {
	mem := vfstest.NewMem()
	if err := oneBefore(mem); err != nil {
		t.Fatal(err)
	}
	s := together(2, mem)
	if err := failed(s.save(copying, func(p int) any { return map[string]any{"more": map[string]any{"w": rows(p, 5)}} },
		checkpoint.SaveOptions{PartialUpdate: true})); err != nil {
		t.Fatal(err)
	}
	st := local.New(mem, "/", nil)
	n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st})
	if err != nil || n.Get("step").Value != 1.0 || n.Get("more").Get("w").Value.(tensor.Tensor).Len() != 1200 {
		t.Fatal(n, err)
	}
	report, err := integrity.Verify(t.Context(), "c", &integrity.VerifyOptions{Store: st})
	if err != nil || !report.OK() {
		t.Fatalf("%+v, %v", report, err)
	}
}

// Another process than the primary has all of an array, large enough to be cut.
func TestAllOfOneIsElsewhere(t *testing.T) {
	for _, l := range []options.Layout{options.OCDBTZarr3, options.OCDBTZarr2} {
		s := together(2, vfstest.NewMem())
		x := noise(rand.New(rand.NewPCG(1, 1)), tensor.Float32, 37, 100)
		var o checkpoint.SaveOptions
		o.Layout, o.Compression, o.Array.Saving.Storage.ChunkByteSize = l, options.Zstd, 1024
		if err := failed(s.save(waiting, func(p int) any {
			part := divide(x, [][]int{nil, nil})
			part.Parts = part.Parts[:p]
			return map[string]any{"x": part}
		}, o)); err != nil {
			t.Fatal(err)
		}
		n, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: local.New(s.fsys, "/", nil)})
		if err != nil || !tree.Equal(n.Get("x"), tree.NewLeaf(x)) {
			t.Fatal(n, err)
		}
	}
}
