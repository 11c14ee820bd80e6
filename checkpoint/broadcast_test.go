package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/proof/crewtest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// switchboard connects goroutines that load together.
type switchboard struct {
	world int

	mu     sync.Mutex
	rounds map[int][]([]byte)
	full   map[int]chan struct{}
	sends  map[string]func(context.Context, int, io.Writer) error
}

func newSwitchboard(world int) *switchboard {
	return &switchboard{world: world, rounds: map[int][]([]byte){}, full: map[int]chan struct{}{},
		sends: map[string]func(context.Context, int, io.Writer) error{}}
}

// line is the end of one process.
type line struct {
	*switchboard
	rank, calls int
}

func (l *line) Rank() int                                           { return l.rank }
func (l *line) World() int                                          { return l.world }
func (l *line) Limits() (silence, deadline time.Duration)           { return time.Second, 10 * time.Second }
func (l *line) Acquire(context.Context) (release func(), err error) { return func() {}, nil }

func (l *line) Exchange(ctx context.Context, given []byte) ([][]byte, error) {
	l.mu.Lock()
	n := l.calls
	l.calls++
	if l.full[n] == nil {
		l.full[n], l.rounds[n] = make(chan struct{}), make([][]byte, l.world)
	}
	l.rounds[n][l.rank] = given
	here := 0
	for _, b := range l.rounds[n] {
		if b != nil {
			here++
		}
	}
	all, full := l.rounds[n], l.full[n]
	if here == l.world {
		close(full)
	}
	l.mu.Unlock()
	limit := time.NewTimer(4 * time.Second)
	defer limit.Stop()
	select {
	case <-limit.C:
		return nil, &errs.Error{Kind: errs.Canceled, Got: "not all have come"}
	case <-full:
		return all, nil
	case <-ctx.Done():
		return nil, &errs.Error{Kind: errs.Canceled, Err: context.Cause(ctx)}
	}
}

func (l *line) Offer(name string, send func(context.Context, int, io.Writer) error) (withdraw func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sends[name] = send
	return func() {}
}

func (l *line) Open(ctx context.Context, _ int, name string) (io.ReadCloser, error) {
	l.mu.Lock()
	send := l.sends[name]
	l.mu.Unlock()
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(send(ctx, l.rank, w)) }()
	return r, nil
}

// Which process reads depends on the mesh, the axis of replicas and the primary. The others read
// no array, and have the same.
func TestLoadAndBroadcast(t *testing.T) {
	dir := t.TempDir()
	x := noise(rand.New(rand.NewPCG(1, 1)), tensor.Float32, 512, 1024)
	if err := checkpoint.Save(t.Context(), filepath.Join(dir, "c"), map[string]any{"x": x, "n": 3}, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set   func(*options.LoadAndBroadcast)
		reads string // the processes that read the array
	}{
		"default":            {func(*options.LoadAndBroadcast) {}, "[0]"},
		"primary_replica_id": {func(l *options.LoadAndBroadcast) { l.PrimaryReplicaID = new(3) }, "[3]"},
		"mesh_shape":         {func(l *options.LoadAndBroadcast) { l.MeshShape = []int{2, 2} }, "[0 1]"},
		"replica_axis_index": {func(l *options.LoadAndBroadcast) {
			l.MeshShape,
				l.ReplicaAxisIndex = []int{2, 2}, new(1)
		}, "[0 2]"},
		"broadcast_memory_limit_bytes": {func(l *options.LoadAndBroadcast) { l.BroadcastMemoryLimitBytes = 3 * 4096 }, "[0]"},
		"one of each": {func(l *options.LoadAndBroadcast) {
			l.MeshShape,
				l.ReplicaAxisIndex = []int{4, 1}, new(1)
		}, "[0 1 2 3]"},
	} {
		board := newSwitchboard(4)
		counts := make([]atomic.Int64, 4)
		err := errors.Join(crewtest.Run(4, func(p int) error {
			disk, err := local.Open(dir, nil)
			if err != nil {
				return err
			}
			o := checkpoint.LoadOptions{Store: tallying{disk, &counts[p]}}
			o.Array.Loading.UseLoadAndBroadcast = options.On
			l := &o.Array.Loading.LoadAndBroadcast
			c.set(l)
			l.Peers = &line{switchboard: board, rank: p}
			n, err := checkpoint.Load(t.Context(), "c", &o)
			if err != nil {
				return err
			}
			if d := tree.Diff(tree.NewDict().Set("n", tree.NewLeaf(int64(3))).Set("x", tree.NewLeaf(x)),
				n); len(d) > 0 {
				return errors.New(tree.FormatDiff(d))
			}
			return nil
		})...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var reads []int
		for p := range counts {
			if counts[p].Load() >= int64(len(x.Data)) {
				reads = append(reads, p)
			}
		}
		if fmt.Sprint(reads) != c.reads {
			t.Errorf("%s: the processes %v read, want %s", name, reads, c.reads)
		}
	}
}

// All processes report what the process that reads has found: missing chunks too.
func TestBroadcastReports(t *testing.T) {
	dir := t.TempDir()
	var s checkpoint.SaveOptions
	s.Layout, s.Array.Saving.Storage.ChunkByteSize = options.PlainZarr2, 100_000
	if err := checkpoint.Save(t.Context(), filepath.Join(dir, "c"), map[string]any{"whole": []int32{1, 2, 3},
		"x": grid(400, 500)}, &s); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bivouac.manifest", "state/x/1.0"} {
		if err := os.Remove(filepath.Join(dir, "c", name)); err != nil {
			t.Fatal(err)
		}
	}
	board := newSwitchboard(3)
	texts := make([]string, 3)
	err := errors.Join(crewtest.Run(3, func(p int) error {
		o := checkpoint.LoadOptions{AllowNoManifest: true, Report: &checkpoint.LoadReport{}}
		o.Array.Loading.RaiseArrayDataMissingError = options.Off
		o.Array.Loading.UseLoadAndBroadcast = options.On
		o.Array.Loading.LoadAndBroadcast.Peers = &line{switchboard: board, rank: p}
		_, err := checkpoint.Load(t.Context(), filepath.Join(dir, "c"), &o)
		texts[p] = o.Report.String()
		return err
	})...)
	if err != nil {
		t.Fatal(err)
	}
	for p, text := range texts {
		if text != texts[0] || !strings.Contains(text, "filled where chunks are missing") {
			t.Errorf("process %d: %q", p, text)
		}
	}
}

// A load that fails on one process fails on all, and names the process: bad options, damage on the
// process that reads, and a caller that has no place for an array.
func TestBroadcastFails(t *testing.T) {
	dir := t.TempDir()
	at := filepath.Join(dir, "c")
	x := noise(rand.New(rand.NewPCG(1, 1)), tensor.Float32, 512, 1024)
	if err := checkpoint.Save(t.Context(), at, map[string]any{"x": x}, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		set  func(p int, o *checkpoint.LoadOptions)
		kind errs.Kind
		who  int
	}{
		"salvage": {func(p int, o *checkpoint.LoadOptions) {
			o.Salvage, o.Report = p == 1, &checkpoint.LoadReport{}
		}, errs.Unsupported, 1},
		"options": {func(p int, o *checkpoint.LoadOptions) {
			o.Array.Loading.LoadAndBroadcast.ReplicaAxisIndex = new(p / 2)
		}, errs.Invalid, 2},
		"final": {func(p int, o *checkpoint.LoadOptions) {
			o.Final = func([]byte) error {
				if p == 1 {
					return &errs.Error{Kind: errs.Exhausted}
				}
				return nil
			}
		}, errs.Exhausted, 1},
		"damage": {func(_ int, o *checkpoint.LoadOptions) {
			disk, err := local.Open(dir, nil)
			if err != nil {
				t.Error(err)
			}
			o.Store = torn{disk}
		}, errs.IO, 0},
	} {
		board := newSwitchboard(3)
		for p, err := range crewtest.Run(3, func(p int) error {
			var o checkpoint.LoadOptions
			o.Array.Loading.UseLoadAndBroadcast = options.On
			o.Array.Loading.LoadAndBroadcast.Peers = &line{switchboard: board, rank: p}
			c.set(p, &o)
			path := at
			if o.Store != nil {
				path = "c"
			}
			n, err := checkpoint.Load(t.Context(), path, &o)
			if err != nil && n != nil {
				t.Errorf("%s: process %d has a tree and an error", name, p)
			}
			return err
		}) {
			if errs.KindOf(err) != c.kind || p != c.who && !strings.Contains(err.Error(), fmt.Sprint("process ", c.who)) {
				t.Errorf("%s: process %d: %v", name, p, err)
			}
		}
	}
}

// torn is a store whose data files cannot be read.
type torn struct{ store.Store }

func (s torn) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	if err != nil || !strings.Contains(name, "/d/") {
		return r, err
	}
	return tornReader{r}, nil
}

type tornReader struct{ store.Reader }

func (r tornReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if len(p) > 64<<10 {
		return &errs.Error{Kind: errs.IO, Subject: "the disk"}
	}
	return r.Reader.ReadAt(ctx, p, off)
}
