package checkpoint_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// gauge counts how many bytes are on their way at once. A goroutine that enters lets all others run
// before it leaves, so that every goroutine that may enter does. Until more than expected bytes
// have been on their way at once it waits for them, though not for ever.
type gauge struct{ now, most, expected atomic.Int64 }

func (g *gauge) pass(n int, do func() error) error {
	now := g.now.Add(int64(n))
	defer g.now.Add(-int64(n))
	for most := g.most.Load(); now > most && !g.most.CompareAndSwap(most, now); most = g.most.Load() {
	}
	turns := 500
	if sampled() {
		turns = 50
	}
	for range turns {
		runtime.Gosched()
	}
	for wait := time.Now().Add(300 * time.Millisecond); g.most.Load() <= g.expected.Load() && time.Now().Before(wait); {
		runtime.Gosched()
	}
	return do()
}

// gauged is a store whose reads and writes of files are gauged.
type gauged struct {
	store.Store
	reads, writes *gauge
}

func newGauged(st store.Store) gauged { return gauged{st, new(gauge), new(gauge)} }

func (s gauged) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := s.Store.Open(ctx, name)
	return gaugedReader{r, s.reads}, err
}

func (s gauged) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	txn, err := s.Store.Begin(ctx, final, o)
	return gaugedTxn{txn, s.writes}, err
}

type gaugedReader struct {
	store.Reader
	*gauge
}

func (r gaugedReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	return r.pass(len(p), func() error { return r.Reader.ReadAt(ctx, p, off) })
}

type gaugedTxn struct {
	store.Txn
	writes *gauge
}

func (t gaugedTxn) Create(ctx context.Context, name string, size int64) (store.Writer, error) {
	w, err := t.Txn.Create(ctx, name, size)
	return gaugedWriter{w, t.writes}, err
}

type gaugedWriter struct {
	store.Writer
	*gauge
}

func (w gaugedWriter) WriteAt(ctx context.Context, p []byte, off int64) error {
	return w.pass(len(p), func() error { return w.Writer.WriteAt(ctx, p, off) })
}

// many is a state of 28 MiB in arrays of several sizes, of 8 MiB where sampled.
func many() *tree.Node {
	r := rand.New(rand.NewPCG(1, 5))
	n := tree.NewDict()
	for _, name := range []string{"a", "b", "c", "d"} {
		n.Set(name, tree.NewLeaf(noise(r, tensor.Uint8, 1024, 1024)))
	}
	rows := 12
	if sampled() {
		rows = 2
	}
	return n.Set("large", tree.NewLeaf(noise(r, tensor.Uint16, rows, 1<<20))).Set("step", tree.NewLeaf(int64(1)))
}

// What a load has asked the store for at a time is bounded, whatever it loads. A sample
// tries half of the limits with each storage, in turn.
func TestReadConcurrentBytes(t *testing.T) {
	state := many()
	for n, o := range storages() {
		mem := local.New(vfstest.NewMem(), "/", nil)
		o.Store = mem
		if err := checkpoint.Save(t.Context(), "c", state, &o); err != nil {
			t.Fatal(err)
		}
		want := state
		abstract := map[string]any{"large": checkpoint.Abstract{DType: tensor.Float32}, "step": nil}
		for _, k := range []string{"a", "b", "c", "d"} {
			abstract[k] = nil
		}
		for i, limit := range []options.Limit{0, options.Unlimited, 300_000, 40_000} {
			if sampled() && (i == 0 || i == 3) != (n%2 == 0) {
				continue
			}
			st := newGauged(mem)
			l := checkpoint.LoadOptions{Store: st}
			l.Memory.ReadConcurrentBytes = limit
			cast := (n+i)%2 == 0
			if cast {
				l.Abstract = abstract
			}
			got, err := checkpoint.Load(t.Context(), "c", &l)
			if err != nil {
				t.Fatal(err)
			}
			if d := tree.Diff(want, got); len(d) > 0 && !cast {
				t.Errorf("%s, %d: loaded differs:\n%s", labelOf(o), limit, tree.FormatDiff(d))
			}
			switch most := st.reads.most.Load(); {
			case limit > 0 && most > int64(limit):
				t.Errorf("%s, %d: %d bytes at a time", labelOf(o), limit, most)
			case limit <= 0 && most <= 300_000:
				t.Errorf("%s: %d bytes at a time without a limit", labelOf(o), most)
			}
		}
	}
}

// All sources of one transformation share the bound.
func TestReadConcurrentBytesOfSeveral(t *testing.T) {
	mem := local.New(vfstest.NewMem(), "/", nil)
	for _, path := range []string{"c", "d"} {
		if err := checkpoint.Save(t.Context(), path, many(), &checkpoint.SaveOptions{Store: mem}); err != nil {
			t.Fatal(err)
		}
	}
	st := newGauged(mem)
	l := checkpoint.LoadOptions{Store: st}
	l.Memory.ReadConcurrentBytes = 300_000
	both := func(_ context.Context, in []*tree.Node) (*tree.Node, error) {
		return tree.NewDict().Set("x", in[0]).Set("y", in[1]), nil
	}
	if _, err := checkpoint.LoadAndTransform(t.Context(), []string{"c", "d"}, nil, both, &l); err != nil {
		t.Fatal(err)
	}
	if most := st.reads.most.Load(); most > 300_000 {
		t.Errorf("%d bytes at a time", most)
	}
}

// What a save has handed to the store at a time is bounded by whole writes, of
// which there is always one.
func TestWriteConcurrentBytes(t *testing.T) {
	const unit = 5 << 20 // a write has less
	state := many()
	for n, o := range storages() {
		m := []manner{waiting, copying}[n%2]
		for _, limit := range []options.Limit{0, unit, 2 * unit} {
			st := newGauged(local.New(vfstest.NewMem(), "/", nil))
			if limit == 0 && o.Compression.Known() == options.Uncompressed {
				st.writes.expected.Store(unit)
			}
			o.Store, o.Memory.WriteConcurrentBytes = st, limit
			if err := saveIn(t.Context(), m, state, o); err != nil {
				t.Fatal(err)
			}
			switch most := st.writes.most.Load(); {
			case limit > 0 && most > int64(limit):
				t.Errorf("%s, %v, %d: %d bytes at a time", labelOf(o), m, limit, most)
			case limit == 0 && most <= unit && o.Compression.Known() == options.Uncompressed:
				t.Errorf("%s, %v: %d bytes at a time without a limit", labelOf(o), m, most)
			}
		}
	}
}

// gated is a store whose transactions begin when it is opened.
type gated struct {
	store.Store
	open chan struct{}
}

func (s gated) Begin(ctx context.Context, final string, o store.TxnOptions) (store.Txn, error) {
	<-s.open
	return s.Store.Begin(ctx, final, o)
}

// Leaves with priority are copied before SaveAsync returns, and written before the
// others; these are the caller's business until the save is done.
func TestIsPrioritizedKey(t *testing.T) {
	for _, o := range storages() {
		r := rand.New(rand.NewPCG(1, 6))
		x, y := noise(r, tensor.Uint8, 3, 1<<20), noise(r, tensor.Uint8, 3, 1<<20)
		state := tree.NewDict().Set("first", tree.NewList(tree.NewLeaf(x))).Set("later", tree.NewLeaf(y)).Set("a",
			tree.NewLeaf(int64(3)))
		wantX, wantY := x.Clone(), tensor.New(tensor.Uint8, 3, 1<<20)
		if o.Layout == options.SafetensorsLayout {
			wantY = y.Clone() // is in one file with the other
		}
		st := gated{local.New(vfstest.NewMem(), "/", nil), make(chan struct{})}
		seen := &events{}
		o.Store, o.Memory.Status = st, seen
		o.Memory.IsPrioritizedKey = func(key tree.Path) bool { return key[0].Name == "first" }
		res, err := checkpoint.SaveAsync(t.Context(), "c", state, &o)
		if err != nil {
			t.Fatal(err)
		}
		clear(x.Data)
		clear(y.Data)
		if o.Layout != options.SafetensorsLayout {
			if i, j := seen.at("transfer first.0"), seen.at("transfer later"); i < 0 || j >= 0 {
				t.Errorf("%s: before anything was written %v", labelOf(o), seen)
			}
		}
		close(st.open)
		if _, err := res.Result(t.Context()); err != nil {
			t.Fatal(labelOf(o), err)
		}
		got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		want := tree.NewDict().Set("first", tree.NewList(tree.NewLeaf(wantX))).Set("later", tree.NewLeaf(wantY)).Set("a",
			tree.NewLeaf(int64(3)))
		if d := tree.Diff(want, got); len(d) > 0 {
			t.Errorf("%s: loaded differs:\n%s", labelOf(o), tree.FormatDiff(d))
		}
		if i, j := seen.at("written first.0"), seen.at("transfer later"); o.Layout != options.SafetensorsLayout &&
			(i < 0 || j < i) {
			t.Errorf("%s: %v", labelOf(o), seen)
		}
	}
}

// Leaves with priority are copied also where that passes the budget.
func TestIsPrioritizedKeyPassesBudget(t *testing.T) {
	x := noise(rand.New(rand.NewPCG(1, 8)), tensor.Uint8, 12, 1<<20)
	want := tree.NewDict().Set("x", tree.NewLeaf(x.Clone()))
	st := gated{local.New(vfstest.NewMem(), "/", nil), make(chan struct{})}
	o := checkpoint.SaveOptions{Store: st}
	o.Memory.IsPrioritizedKey, o.MemoryBudget = func(tree.Path) bool { return true }, 8<<20
	res, err := checkpoint.SaveAsync(t.Context(), "c", map[string]any{"x": x}, &o)
	if err != nil {
		t.Fatal(err)
	}
	clear(x.Data)
	close(st.open)
	if _, err := res.Result(t.Context()); err != nil {
		t.Fatal(err)
	}
	got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st})
	if err != nil {
		t.Fatal(err)
	}
	if d := tree.Diff(want, got); len(d) > 0 {
		t.Errorf("loaded differs:\n%s", tree.FormatDiff(d))
	}
}

// Without a deep copy the state is handed over; with one, or by default, it is the
// caller's again at once.
func TestDeepcopyHostArrays(t *testing.T) {
	for _, c := range []struct {
		deep options.Toggle
		want byte
	}{{options.Inherit, 7}, {options.On, 7}, {options.Off, 0}} {
		x := tensor.New(tensor.Uint8, 1<<20)
		for i := range x.Data {
			x.Data[i] = 7
		}
		st := gated{local.New(vfstest.NewMem(), "/", nil), make(chan struct{})}
		o := checkpoint.SaveOptions{Store: st}
		o.Memory.DeepcopyHostArrays = c.deep
		res, err := checkpoint.SaveAsync(t.Context(), "c", map[string]any{"x": x}, &o)
		if err != nil {
			t.Fatal(err)
		}
		clear(x.Data)
		close(st.open)
		stats, err := res.Result(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := checkpoint.Load(t.Context(), "c", &checkpoint.LoadOptions{Store: st})
		if err != nil {
			t.Fatal(err)
		}
		if b := got.Get("x").Value.(tensor.Tensor).Data[5]; b != c.want || stats.Copied != (c.deep != options.Off) {
			t.Errorf("%v: %d, copied %v", c.deep, b, stats.Copied)
		}
	}
}

// events is a StatusCallback that remembers.
type events struct {
	mu   sync.Mutex
	list []string
}

func (e *events) add(s string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, s)
}

func (e *events) at(s string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Index(e.list, s)
}

func (e *events) String() string { return labelsOf(e.list) }

func (e *events) OnTransferEnd(key tree.Path) { e.add("transfer " + key.Param()) }
func (e *events) OnWriteEnd(key tree.Path)    { e.add("written " + key.Param()) }

func labelsOf(list []string) (out string) {
	for _, s := range list {
		out += s + "; "
	}
	return out
}

// The callback is told once of each leaf that it is apart, and once that it is
// written, in this order, however it is stored and saved; also of data files that
// are linked.
func TestSerializationStatus(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 7))
	rows := 9
	if sampled() {
		rows = 5 // more than a chunk
	}
	for n, o := range storages() {
		state := tree.NewDict().Set("large", tree.NewLeaf(noise(r, tensor.Uint8, rows, 1<<20))).Set("empty", tree.NewDict()).
			Set("mid", tree.NewLeaf(noise(r, tensor.Uint8, 9000))).Set("small", tree.NewLeaf(noise(r, tensor.Uint8, 9))).
			Set("none", tree.NewLeaf(nil)).Set("zero", tree.NewLeaf(noise(r, tensor.Uint8, 0))).Set("step",
			tree.NewLeaf(int64(1)))
		names := []string{"large", "mid", "small", "zero", "step"}
		if o.Layout != options.SafetensorsLayout {
			state.Set("text", tree.NewLeaf("word"))
			names = append(names, "text")
		}
		for m := range manners {
			if sampled() && m != manner(n)%manners && m != manner(n+2)%manners {
				continue
			}
			seen := &events{}
			o.Store, o.Memory.Status = local.New(vfstest.NewMem(), "/", nil), seen
			o.Base = "c"
			for again := range 2 {
				if again == 1 {
					seen.list, o.Overwrite = nil, true
				}
				if err := saveIn(t.Context(), m, state, o); err != nil {
					t.Fatal(labelOf(o), m, err)
				}
				for _, name := range names {
					if i, j := seen.at("transfer "+name), seen.at("written "+name); i < 0 || j < i {
						t.Errorf("%s, %v: %s: %v", labelOf(o), m, name, seen)
					}
				}
				if len(seen.list) != 2*len(names) {
					t.Errorf("%s, %v: %v", labelOf(o), m, seen)
				}
			}
			o.Overwrite = false
		}
	}
}

// A save that fails tells of no leaf that it was written which was not.
func TestSerializationStatusOfFailure(t *testing.T) {
	seen := &events{}
	o := checkpoint.SaveOptions{Store: local.New(vfstest.NewMem(), "/", nil)}
	o.Memory.Status, o.Array.Saving.Storage.DType = seen, tensor.Int8
	x := tensor.New(tensor.Int32, 1<<20)
	x.Data[1] = 1
	if err := checkpoint.Save(t.Context(), "c", map[string]any{"x": x}, &o); err == nil {
		t.Fatal("saved")
	}
	if len(seen.list) > 0 {
		t.Error(seen)
	}
}
