package peer_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/peer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// counting counts the bytes that are read from the store, and can fail or hang a read of data.
type counting struct {
	store.Store
	bytes *atomic.Int64
	at    func(name string, off, n int64) error // may be nil
}

func (c counting) Open(ctx context.Context, name string) (store.Reader, error) {
	r, err := c.Store.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return countingReader{r, c, name}, nil
}

type countingReader struct {
	store.Reader
	of   counting
	name string
}

func (r countingReader) ReadAt(ctx context.Context, p []byte, off int64) error {
	if r.of.at != nil {
		if err := r.of.at(r.name, off, int64(len(p))); err != nil {
			return err
		}
	}
	r.of.bytes.Add(int64(len(p)))
	return r.Reader.ReadAt(ctx, p, off)
}

// job is several members on one board, as goroutines, and a checkpoint.
type job struct {
	t     *testing.T
	world int
	dir   string
	state *tree.Node
	bytes []*atomic.Int64 // that each has read
	ats   []func(name string, off, n int64) error
	peers []*peer.Peers
	o     []*checkpoint.LoadOptions
	views []*cluster.Member
}

const (
	testLease    = 2 * time.Second
	testSilence  = 2 * time.Second
	testDeadline = 20 * time.Second
)

// model is arrays of several sizes and kinds: large, uneven, small, empty, scalars and texts.
func model(seed uint64) *tree.Node {
	rng := rand.New(rand.NewPCG(seed, 7))
	noise := func(d tensor.DType, shape ...int) tensor.Tensor {
		x := tensor.New(d, shape...)
		for i := range x.Data {
			x.Data[i] = byte(rng.Uint32()) & 0x3f
		}
		return x
	}
	n := tree.NewDict()
	n.Set("big", tree.NewLeaf(noise(tensor.Float32, 1024, 2048)))
	n.Set("odd", tree.NewLeaf(noise(tensor.Float32, 513, 1023)))
	n.Set("bytes", tree.NewLeaf(noise(tensor.Uint8, 3<<20+1)))
	n.Set("empty", tree.NewLeaf(tensor.New(tensor.Float64, 0, 3)))
	n.Set("step", tree.NewLeaf(int64(7)))
	n.Set("name", tree.NewLeaf("run"))
	for i := range 40 {
		n.Set(fmt.Sprint("small", i), tree.NewLeaf(noise(tensor.BFloat16, 3+i, 5)))
	}
	return n
}

func newJob(t *testing.T, world int) *job {
	t.Helper()
	j := &job{t: t, world: world, dir: t.TempDir(), state: model(1)}
	if err := checkpoint.Save(t.Context(), j.dir+"/c", j.state, nil); err != nil {
		t.Fatal(err)
	}
	board := cluster.InProcess()
	j.peers, j.views = make([]*peer.Peers, world), make([]*cluster.Member, world)
	j.ats = make([]func(string, int64, int64) error, world)
	for range world {
		j.bytes = append(j.bytes, &atomic.Int64{})
		j.o = append(j.o, nil)
	}
	for p, err := range j.each(func(p int) error {
		m, err := cluster.Join(t.Context(), board, cluster.Options{Rank: p, World: world, Lease: testLease,
			Deadline: testDeadline})
		if err != nil {
			return err
		}
		j.views[p] = m
		j.peers[p], err = peer.Open(t.Context(), m, peer.Options{Silence: testSilence, Deadline: testDeadline})
		j.o[p] = j.options(p)
		return err
	}) {
		if err != nil {
			t.Fatalf("process %d: %v", p, err)
		}
	}
	t.Cleanup(func() {
		for _, err := range j.each(func(p int) error { return errors.Join(j.peers[p].Close(), j.views[p].Close()) }) {
			if err != nil {
				t.Error(err)
			}
		}
	})
	return j
}

// opened returns the store of a directory.
func opened(t *testing.T, dir string) store.Store {
	t.Helper()
	s, err := local.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// options returns the options of a process.
func (j *job) options(p int) *checkpoint.LoadOptions {
	o := &checkpoint.LoadOptions{}
	o.Store = counting{opened(j.t, j.dir), j.bytes[p], func(name string, off, n int64) error {
		if at := j.ats[p]; at != nil {
			return at(name, off, n)
		}
		return nil
	}}
	o.Array.Loading.UseLoadAndBroadcast = options.On
	o.Array.Loading.LoadAndBroadcast.Peers = j.peers[p]
	return o
}

// each runs a function in all processes.
func (j *job) each(f func(p int) error) []error {
	out := make([]error, j.world)
	var wait sync.WaitGroup
	for p := range j.world {
		wait.Go(func() { out[p] = f(p) })
	}
	wait.Wait()
	return out
}

// load has all processes load, and compares what they got.
func (j *job) load() []error {
	return j.each(func(p int) error {
		n, err := checkpoint.Load(j.t.Context(), "c", j.o[p])
		if err != nil {
			return err
		}
		if d := tree.Diff(j.state, n); len(d) > 0 {
			return fmt.Errorf("process %d loaded:\n%s", p, tree.FormatDiff(d))
		}
		return nil
	})
}

func (j *job) mustLoad() {
	j.t.Helper()
	for p, err := range j.load() {
		if err != nil {
			j.t.Errorf("process %d: %v", p, err)
		}
	}
}

// alone returns how many bytes one process reads that loads for itself.
func (j *job) alone() int64 {
	var n atomic.Int64
	_, err := checkpoint.Load(j.t.Context(), "c", &checkpoint.LoadOptions{Store: counting{opened(j.t, j.dir), &n, nil}})
	if err != nil {
		j.t.Fatal(err)
	}
	return n.Load()
}

// One replica reads for all: the store gives little more than one copy, and all have the same.
func TestOneReadsForAll(t *testing.T) {
	for _, world := range []int{1, 2, 3, 4} {
		j := newJob(t, world)
		j.mustLoad()
		var all int64
		for _, n := range j.bytes {
			all += n.Load()
		}
		one := j.alone()
		t.Logf("%d processes: %d bytes, one alone %d: %.3f", world, all, one, float64(all)/float64(one))
		if all > one+one/20 {
			t.Errorf("%d processes have read %d bytes, one alone reads %d", world, all, one)
		}
		j.mustLoad() // the same peers serve further loads
	}
}

// Loads into memory of the caller, of boxes and with casts give what each process would read
// itself.
func TestBroadcastIntoBoxesAndCasts(t *testing.T) {
	j := newJob(t, 3)
	for p, err := range j.each(func(p int) error {
		into := map[string]any{"big": tensor.New(tensor.Float32, 1024, 2048)}
		o := *j.o[p]
		o.Want = func(l checkpoint.LeafInfo) checkpoint.Want { return checkpoint.Want{Skip: l.Param != "big"} }
		n, err := checkpoint.Load(t.Context(), "c", &o)
		if err != nil {
			return err
		}
		o.Want = nil
		o.PyTree.Loading.PartialLoad = options.On
		o.Abstract = map[string]any{"big": checkpoint.Abstract{}}
		if err := checkpoint.LoadInto(t.Context(), "c", into, &o); err != nil {
			return err
		}
		want, _ := j.state.Get("big").Tensor()
		got, _ := n.Get("big").Tensor()
		if string(got.Data) != string(want.Data) || string(into["big"].(tensor.Tensor).Data) != string(want.Data) {
			return errors.New("big differs")
		}
		o = *j.o[p]
		o.Want = func(l checkpoint.LeafInfo) checkpoint.Want {
			if l.Param != "odd" {
				return checkpoint.Want{Skip: true}
			}
			return checkpoint.Want{DType: tensor.Float64, Boxes: []checkpoint.Box{
				{Origin: []int{0, 0}, Shape: []int{3, 1023}}, {Origin: []int{2, 5}, Shape: []int{500, 7}}}}
		}
		a, err := checkpoint.Load(t.Context(), "c", &o)
		if err != nil {
			return err
		}
		b, err := checkpoint.Load(t.Context(), j.dir+"/c", &checkpoint.LoadOptions{Want: o.Want})
		if err != nil {
			return err
		}
		if fmt.Sprint(a.Get("odd").Value) != fmt.Sprint(b.Get("odd").Value) {
			return errors.New("boxes differ")
		}
		items, err := checkpoint.LoadCheckpointables(t.Context(), "c", j.o[p])
		if err != nil {
			return err
		}
		if d := tree.Diff(j.state, items["state"].(*tree.Node)); len(d) > 0 {
			return errors.New(tree.FormatDiff(d))
		}
		return nil
	}) {
		if err != nil {
			t.Errorf("process %d: %v", p, err)
		}
	}
}

// On a mesh of 2 x 2 each group has its own primary and boxes; a group may have more to read.
func TestBroadcastOnAMesh(t *testing.T) {
	for axis, primary := range []int{0, 1} {
		j := newJob(t, 4)
		reads := func(p int) bool { // the coordinate on the axis
			return []int{p / 2, p % 2}[axis] == primary
		}
		for p, err := range j.each(func(p int) error {
			o := j.o[p]
			l := &o.Array.Loading.LoadAndBroadcast
			l.MeshShape, l.ReplicaAxisIndex, l.PrimaryReplicaID = []int{2, 2}, new(axis), new(primary)
			half := []int{p % 2, p / 2}[axis] // the coordinate on the other axis
			o.Want = func(l checkpoint.LeafInfo) checkpoint.Want {
				if l.Param != "big" {
					return checkpoint.Want{Skip: half == 1} // the second group reads one array alone
				}
				return checkpoint.Want{Boxes: []checkpoint.Box{{Origin: []int{512 * half, 0}, Shape: []int{512, 2048}}}}
			}
			n, err := checkpoint.Load(t.Context(), "c", o)
			if err != nil {
				return err
			}
			want, _ := j.state.Get("big").Tensor()
			got, _ := n.Get("big").Tensor()
			if at := 512 * half * 2048 * 4; string(got.Data) != string(want.Data[at:at+512*2048*4]) {
				return errors.New("another half")
			}
			return nil
		}) {
			if err != nil {
				t.Errorf("axis %d, process %d: %v", axis, p, err)
			}
			if n := j.bytes[p].Load(); (n > 4<<20) != reads(p) {
				t.Errorf("axis %d, primary %d: process %d has read %d bytes", axis, primary, p, n)
			}
		}
	}
}

// Damage that the primary finds is the error of all. Nothing else is read.
func TestDamageIsToldToAll(t *testing.T) {
	j := newJob(t, 3)
	flip(t, j.dir+"/c/state/d")
	list := j.load()
	for p, err := range list {
		if errs.KindOf(err) != errs.Corrupt {
			t.Errorf("process %d: %v", p, err)
		}
		if p > 0 && !strings.Contains(fmt.Sprint(err), "process 0") {
			t.Errorf("process %d: %v", p, err)
		}
		if p > 0 && !strings.Contains(fmt.Sprint(err), "big") && !strings.Contains(fmt.Sprint(err), "state") {
			t.Errorf("process %d is not told where: %v", p, err)
		}
	}
	// The peers are as good as before.
	if err := checkpoint.Save(t.Context(), j.dir+"/c", j.state, &checkpoint.SaveOptions{Overwrite: true}); err != nil {
		t.Fatal(err)
	}
	j.mustLoad()
}

// Members that do not ask for the same are told which one differs and in what.
func TestMembersMustAgree(t *testing.T) {
	j := newJob(t, 3)
	if err := checkpoint.Save(t.Context(), j.dir+"/other", model(2), nil); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(p int, o *checkpoint.LoadOptions) (path string){
		"process 2: the checkpoint": func(p int, _ *checkpoint.LoadOptions) string {
			return map[bool]string{true: "other"}[p == 2]
		},
		"process 1: array.loading.load_and_broadcast_options.primary_replica_id": func(p int,
			o *checkpoint.LoadOptions) string {
			o.Array.Loading.LoadAndBroadcast.PrimaryReplicaID = new(p % 2)
			return ""
		},
		"process 1: the boxes": func(p int, o *checkpoint.LoadOptions) string {
			o.Want = func(l checkpoint.LeafInfo) checkpoint.Want {
				return checkpoint.Want{Skip: p == 1 &&
					l.Param == "big"}
			}
			return ""
		},
		"process 2: no such": func(p int, _ *checkpoint.LoadOptions) string {
			return map[bool]string{true: "nothing"}[p == 2]
		},
		"process 1": func(p int, o *checkpoint.LoadOptions) string {
			if p == 1 {
				o.Salvage, o.Report = true, &checkpoint.LoadReport{}
			}
			return ""
		},
		"process 2: array.loading.load_and_broadcast_options.mesh_shape": func(p int,
			o *checkpoint.LoadOptions) string {
			if p == 2 {
				o.Array.Loading.LoadAndBroadcast.MeshShape = []int{3, 1}
			}
			return ""
		},
	} {
		began := time.Now()
		for p, err := range j.each(func(p int) error {
			o := *j.o[p]
			path := change(p, &o)
			if path == "" {
				path = "c"
			}
			_, err := checkpoint.Load(t.Context(), path, &o)
			return err
		}) {
			text := fmt.Sprint(err)
			if want == "process 2: no such" {
				if errs.KindOf(err) != errs.NotFound || p != 2 && !strings.Contains(text, "process 2") {
					t.Errorf("%s: process %d: %v", want, p, err)
				}
				continue
			}
			own := want == "process 1" && p == 1
			if err == nil || !own && !strings.Contains(text, want) {
				t.Errorf("%s: process %d: %v", want, p, err)
			}
		}
		if took := time.Since(began); took > testDeadline/2 {
			t.Errorf("%s: it took %v", want, took)
		}
	}
	j.mustLoad()
}

// Options that cannot be are refused by name, on all processes.
func TestBroadcastMistakes(t *testing.T) {
	j := newJob(t, 3)
	for want, change := range map[string]func(l *options.LoadAndBroadcast){
		"mesh_shape":                   func(l *options.LoadAndBroadcast) { l.MeshShape = []int{2, 2} },
		"replica_axis_index":           func(l *options.LoadAndBroadcast) { l.ReplicaAxisIndex = new(1) },
		"primary_replica_id":           func(l *options.LoadAndBroadcast) { l.PrimaryReplicaID = new(3) },
		"broadcast_memory_limit_bytes": func(l *options.LoadAndBroadcast) { l.BroadcastMemoryLimitBytes = 5000 },
	} {
		for p, err := range j.each(func(p int) error {
			o := *j.o[p]
			change(&o.Array.Loading.LoadAndBroadcast)
			_, err := checkpoint.Load(t.Context(), "c", &o)
			return err
		}) {
			if errs.KindOf(err) != errs.Invalid || !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: process %d: %v", want, p, err)
			}
		}
	}
	o := checkpoint.LoadOptions{}
	o.Array.Loading.UseLoadAndBroadcast, o.Multiprocessing.ProcessCount = options.On, 2
	o.Multiprocessing.Barrier = func(context.Context, string) error { return nil }
	if _, err := checkpoint.Load(t.Context(), j.dir+"/c", &o); errs.KindOf(err) != errs.Invalid ||
		!strings.Contains(fmt.Sprint(err), "load_and_broadcast_options.peers") {
		t.Error(err)
	}
	o.Array.Loading.LoadAndBroadcast.Peers = j.peers[1]
	if _, err := checkpoint.Load(t.Context(), j.dir+"/c", &o); errs.KindOf(err) != errs.Mismatch {
		t.Error(err)
	}
	o.Array.Loading.LoadAndBroadcast.Peers, o.Multiprocessing = nil, options.Multiprocessing{}
	if _, err := checkpoint.Load(t.Context(), j.dir+"/c", &o); err != nil {
		t.Errorf("one process: %v", err)
	}
	j.mustLoad()
}
