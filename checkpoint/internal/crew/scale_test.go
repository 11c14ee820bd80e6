package crew_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/crew"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/writer"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// pytree is the name of the item.
const pytree = "pytree"

// model is a transformer whose every array is cut into one shard for each rank of a mesh of
// side × side ranks, as fully sharded training does.
type model struct {
	layers, width, side int
}

func (m model) ranks() int { return m.side * m.side }

// array is one array of the model.
type array struct {
	name  string
	dtype tensor.DType
	shape tensor.Shape
}

// arrays returns the arrays by the name of their layer: 4 matrices of attention, 2 of the
// feed-forward network, and 6 vectors.
func (m model) arrays() map[string][]array {
	d := m.width
	square, vector := tensor.Shape{d, d}, tensor.Shape{d}
	all := map[string][]array{
		"embedding": {{"table", tensor.BFloat16, tensor.Shape{2 * d, d}}},
		"final":     {{"scale", tensor.Float32, vector}, {"bias", tensor.Float32, vector}},
	}
	for i := range m.layers {
		all[fmt.Sprintf("layer_%03d", i)] = []array{
			{"query", tensor.BFloat16, square}, {"key", tensor.BFloat16, square}, {"value", tensor.BFloat16, square}, {"out", tensor.BFloat16, square},
			{"up", tensor.BFloat16, tensor.Shape{d, 4 * d}}, {"down", tensor.BFloat16, tensor.Shape{4 * d, d}},
			{"norm1_scale", tensor.Float32, vector}, {"norm1_bias", tensor.Float32, vector}, {"norm2_scale", tensor.Float32, vector},
			{"norm2_bias", tensor.Float32, vector}, {"up_bias", tensor.Float32, tensor.Shape{4 * d}}, {"down_bias", tensor.Float32, vector},
		}
	}
	return all
}

func (m model) count() (parameters, arrays int) {
	for _, list := range m.arrays() {
		for _, a := range list {
			parameters, arrays = parameters+a.shape.Len(), arrays+1
		}
	}
	return parameters, arrays
}

// shard is the shape of the shards of an array, and the cell of a rank in their grid.
func (m model) shard(a tensor.Shape, rank int) (shape tensor.Shape, cell []int) {
	if len(a) == 1 {
		return tensor.Shape{a[0] / m.ranks()}, []int{rank}
	}
	return tensor.Shape{a[0] / m.side, a[1] / m.side}, []int{rank / m.side, rank % m.side}
}

// state is what a rank has; the rank -1 has no shards. All shards have the same memory, so that the
// payload takes none.
func (m model) state(rank int, memory []byte) *tree.Node {
	root := tree.NewDict()
	all := m.arrays()
	for _, layer := range slices.Sorted(maps.Keys(all)) {
		d := tree.NewDict()
		for _, a := range all[layer] {
			s := checkpoint.Shards{DType: a.dtype, Shape: a.shape}
			if rank >= 0 {
				shape, cell := m.shard(a.shape, rank)
				origin := make([]int, len(cell))
				for k := range origin {
					origin[k] = cell[k] * shape[k]
				}
				s.Parts = []checkpoint.Shard{{Origin: origin, Data: tensor.Tensor{DType: a.dtype, Shape: shape,
					Data: memory[:shape.Len()*a.dtype.Size()]}}}
			}
			d.Set(a.name, &tree.Node{Value: s})
		}
		root.Set(layer, d)
	}
	return root
}

// hollow is a store whose data files have a size and no bytes.
type hollow struct {
	store.Store
	root string
}

type hollowTxn struct {
	store.Txn
	root string
}

type hollowWriter struct {
	store.Writer
	file string
	size int64
}

func (h *hollow) Begin(ctx context.Context, name string, o store.TxnOptions) (store.Txn, error) {
	t, err := h.Store.Begin(ctx, name, o)
	return &hollowTxn{t, h.root}, err
}

func (t *hollowTxn) Create(_ context.Context, name string, size int64) (store.Writer, error) {
	return &hollowWriter{file: filepath.Join(t.root, t.Staging(), name), size: size}, nil
}

func (w *hollowWriter) WriteAt(context.Context, []byte, int64) error { return nil }

func (w *hollowWriter) Seal(context.Context) error { return sparse(w.file, w.size) }

func (w *hollowWriter) Abort() error { return nil }

// sparse makes a file with a size and no bytes.
func sparse(name string, size int64) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// errPayload says that bytes of an array were asked for.
var errPayload = errors.New("the payload has no bytes")

// bare is a store whose data files cannot be opened.
type bare struct {
	store.Store
	data func(name string) bool
}

func (b *bare) Open(ctx context.Context, name string) (store.Reader, error) {
	if b.data(name) {
		return nil, errPayload
	}
	return b.Store.Open(ctx, name)
}

func (b *bare) Pin(ctx context.Context, name string) (store.Pinned, error) {
	p, err := store.Pin(ctx, b.Store, name)
	return &barePin{p, b}, err
}

type barePin struct {
	store.Pinned
	b *bare
}

func (p *barePin) Open(ctx context.Context, name string) (store.Reader, error) {
	if p.b.data(name) {
		return nil, errPayload
	}
	return p.Pinned.Open(ctx, name)
}

// clock measures the stages of a process: seconds, and the most that was live above the start.
type clock struct {
	t     *testing.T
	start uint64
	total time.Duration
	used  time.Duration // of processors
	peak  uint64
	alive uint64
	most  atomic.Uint64 // of the present stage, with garbage
	live  atomic.Uint64 // of the present stage, after a collection
	cpu   string
}

func heapNow(name string) uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func newClock(t *testing.T) *clock {
	runtime.GC()
	return &clock{t: t, start: heapNow("/memory/classes/heap/objects:bytes")}
}

// stage runs one stage.
func (c *clock) stage(name string, run func() error) {
	c.t.Helper()
	done, ended := make(chan struct{}), make(chan struct{})
	c.most.Store(0)
	c.live.Store(0)
	go func() {
		defer close(ended)
		for {
			c.most.Store(max(c.most.Load(), heapNow("/memory/classes/heap/objects:bytes")))
			c.live.Store(max(c.live.Load(), heapNow("/gc/heap/live:bytes")))
			select {
			case <-done:
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	if c.cpu != "" {
		f, err := os.Create(c.cpu + "." + strings.ReplaceAll(name, " ", "-"))
		if err != nil {
			c.t.Fatal(err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err == nil {
			defer pprof.StopCPUProfile()
		}
	}
	began, used := time.Now(), processor()
	err := run()
	took := time.Since(began)
	used = processor() - used
	close(done)
	<-ended
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	most := c.most.Load()
	above := most - min(most, c.start)
	live := c.live.Load() - min(c.live.Load(), c.start)
	c.total, c.used = c.total+took, c.used+used
	c.peak, c.alive = max(c.peak, above), max(c.alive, live)
	c.t.Logf("%-60s %7.3f s %7.3f s of a processor, live %6.1f MB, taken %6.1f MB", name, took.Seconds(), used.Seconds(),
		float64(live)/1e6, float64(above)/1e6)
}

// processor returns the time that processors have spent on this process.
func processor() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// meeting holds the barriers of the primary, at which the other ranks do their part.
type meeting struct {
	at map[string]func() error
}

func (m *meeting) barrier(_ context.Context, key string) error {
	if f := m.at[key[strings.LastIndexByte(key, ':')+1:]]; f != nil {
		return f()
	}
	return nil
}

// TestScale plans, gathers and commits the save of a large model by many ranks, opens it, and plans
// a load by other ranks. The arrays have shapes and no bytes. With BIVOUAC_LONG it has 10^12
// parameters and 1,024 ranks, and the time and memory of docs/scale.md.
func TestScale(t *testing.T) {
	m := model{layers: 6, width: 1024, side: 8}
	if os.Getenv("BIVOUAC_LONG") != "" {
		m = model{layers: 128, width: 25_600, side: 32}
	}
	measure(t, m)
}

func (m model) options(process int, barrier func(context.Context, string) error) crew.Group {
	g := crew.Group{Self: process, Barrier: barrier}
	for p := range m.ranks() + 1 { // process 0 leads, and has no shards: its payload would be in the figures
		g.Active = append(g.Active, p)
	}
	return g
}

func itemsOf(state *tree.Node) []writer.Item {
	return []writer.Item{{Name: pytree, Handler: orbax.HandlerTree, Tree: state}}
}

func measure(t *testing.T, m model) {
	dir, ctx := t.TempDir(), t.Context()
	st := &hollow{local.New(vfs.OS(), dir, nil), dir}
	item := pytree
	parameters, arrays := m.count()
	t.Logf("%d parameters in %d arrays, %d ranks, %d shards", parameters, arrays, m.ranks(), arrays*m.ranks())
	memory := make([]byte, m.width/m.side*(4*m.width/m.side)*2)
	call := crew.Call{Store: st, Name: "c", Key: "k"}
	var host *crew.Meeting
	say := func(name string, b []byte) error {
		talk, _ := host.Directories()
		return os.WriteFile(filepath.Join(dir, talk, name), b, 0o666)
	}
	var mu sync.Mutex
	largest := map[string]int{}
	noted := func(what string, b []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		largest[what] = max(largest[what], len(b))
		return b
	}
	c := newClock(t)
	c.cpu = os.Getenv("BIVOUAC_SCALE_CPU")
	var err error
	others := &meeting{at: map[string]func() error{}}
	c.stage("meet", func() error {
		host, err = m.options(0, others.barrier).Meet(ctx, call)
		return err
	})
	o := writer.Options{Layout: options.OCDBTZarr3}
	for rank := range m.ranks() {
		roll, err := crew.Roll(itemsOf(m.state(rank, memory)), &o)
		if err == nil {
			err = say("plan."+strconv.Itoa(rank+1), noted("plan", roll))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// One rank does all of its part. The others would do the same with other shards.
	guest, err := m.options(1, func(context.Context, string) error { return nil }).Meet(ctx, call)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	var items []writer.Item
	c.stage("primary: reads all plans, divides the work", func() error {
		items, err = host.Agree(ctx, itemsOf(m.state(-1, nil)), &o)
		return err
	})
	var w *writer.Writer
	c.stage("primary: plans its files", func() error {
		w, err = writer.Plan(items, writer.InPlace, o)
		return err
	})
	items = nil
	var guestWriter *writer.Writer
	talk, _ := host.Directories()
	if err := os.Remove(filepath.Join(dir, talk, "plan.1")); err != nil { // the rank writes it itself
		t.Fatal(err)
	}
	other := newClock(t)
	other.cpu = c.cpu
	other.stage("rank 0: reads all plans, plans its files", func() error {
		o := writer.Options{Layout: options.OCDBTZarr3}
		items, err := guest.Agree(ctx, itemsOf(m.state(0, memory)), &o)
		if err == nil {
			guestWriter, err = writer.Plan(items, writer.InPlace, o)
		}
		return err
	})
	files := map[string]bool{}
	writes := func() error {
		_, txn := host.Directories()
		if _, err := guestWriter.Write(ctx, crew.Guest(guest)); err != nil {
			return err
		}
		sizes, err := guest.Files()
		if err != nil {
			return err
		}
		shapes := map[string]tensor.Shape{}
		for layer, list := range m.arrays() {
			for _, a := range list {
				shapes[layer+"."+a.name] = a.shape
			}
		}
		for rank := range m.ranks() {
			file := func(name string) string {
				return name[:len(name)-4] + fmt.Sprintf("%04x", rank)
			}
			report, err := guest.ReportAs(item, file, func(key string) string { return m.keyOf(key, shapes, rank) },
				func(param string, chunk int) int { return m.chunkOf(shapes[param], chunk, rank) })
			if err == nil {
				err = say("report."+strconv.Itoa(rank+1), noted("report", report))
			}
			if err != nil {
				return err
			}
			for name, size := range sizes {
				files[file(name)] = true
				if err := sparse(filepath.Join(dir, txn, file(name)), size); err != nil {
					return err
				}
			}
		}
		runtime.GC()
		return nil
	}
	var their struct{ took, used time.Duration }
	others.at["written"] = func() error {
		began, used := time.Now(), processor()
		err := writes()
		their.took, their.used = time.Since(began), processor()-used
		c.most.Store(0)
		c.live.Store(0)
		return err
	}
	c.stage("primary: reports, index, manifest, commit, and others' part", func() error {
		_, err := host.Write(ctx, w, nil)
		return err
	})
	c.total, c.used = c.total-their.took, c.used-their.used
	t.Logf("%-60s %7.3f s %7.3f s of a processor", "  of which the others' part", their.took.Seconds(),
		their.used.Seconds())
	t.Logf("%-60s %7.3f s %7.3f s of a processor, live %6.1f MB, taken %6.1f MB", "the primary in all", c.total.Seconds(),
		c.used.Seconds(), float64(c.alive)/1e6, float64(c.peak)/1e6)
	t.Logf("a plan has %d bytes, a report %d", largest["plan"], largest["report"])

	reads := newClock(t)
	reads.cpu = c.cpu
	nothing := &bare{st.Store, func(name string) bool { return files[strings.TrimPrefix(name, "c/")] }}
	reads.stage("metadata", func() error {
		info, err := checkpoint.Metadata(ctx, "c", &checkpoint.LoadOptions{Store: nothing})
		if err != nil {
			return err
		}
		if it, ok := info.Item(item); !ok || len(it.Leaves) != arrays {
			return fmt.Errorf("%d leaves", len(it.Leaves))
		}
		return nil
	})
	more := model{m.layers, m.width, m.side * 2}
	reads.stage("a load of one of 4 times as many ranks, to its first byte", func() error {
		want := func(l checkpoint.LeafInfo) checkpoint.Want {
			shape, cell := more.shard(l.Shape, more.ranks()-1)
			for k := range cell {
				cell[k] *= shape[k]
			}
			return checkpoint.Want{Boxes: []checkpoint.Box{{Origin: cell, Shape: shape}}}
		}
		_, err := checkpoint.Load(ctx, "c", &checkpoint.LoadOptions{Store: nothing, Want: want})
		if !errors.Is(err, errPayload) {
			return fmt.Errorf("want a read of an array, got %w", err)
		}
		return nil
	})
}

// keyOf is the key that a rank has in place of a key of rank 0.
func (m model) keyOf(key string, shapes map[string]tensor.Shape, rank int) string {
	param, rest, _ := strings.Cut(key, "/c/")
	if rest == "" {
		return key // metadata
	}
	_, cell := m.shard(shapes[param], rank)
	text := make([]string, len(cell))
	for k, v := range cell {
		text[k] = strconv.Itoa(v)
	}
	return param + "/c/" + strings.Join(text, "/")
}

// chunkOf is the sub-chunk that a rank has in place of a sub-chunk of rank 0: a shard is cut along
// its first axis at most.
func (m model) chunkOf(a tensor.Shape, chunk, rank int) int {
	_, cell := m.shard(a, rank)
	if len(cell) == 1 {
		return rank
	}
	return (cell[0]*m.cuts(a)+chunk/m.side)*m.side + cell[1]
}

// cuts is how many sub-chunks a shard has.
func (m model) cuts(a tensor.Shape) int {
	shape, _ := m.shard(a, 0)
	if n := shape.Len() * 2; n > 4<<20 {
		return 2
	}
	return 1
}
