package training_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// network decides about the requests of one process, counts them, and can be cut.
type network struct {
	mu    sync.Mutex
	cut   bool
	left  int // requests until it is cut; 0 is never
	count int
	delay time.Duration
	rng   *rand.Rand // faults; nil has none
}

var errCut = errors.New("the network is cut")

func (n *network) fate(r simulated.Request) simulated.Fate {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	if n.left > 0 {
		if n.left--; n.left == 0 {
			n.cut = true
		}
	}
	if n.cut {
		return simulated.Fate{Err: errCut}
	}
	if n.rng == nil {
		return simulated.Fate{Delay: n.delay}
	}
	f := simulated.Fate{Delay: time.Duration(n.rng.IntN(40e6) + 1)}
	switch k := n.rng.IntN(100); {
	case k < 3:
		f.Lost = true
	case k < 6:
		f.Err = simulated.ErrSlow
	case k < 8:
		f.Err = simulated.ErrServer
	case k < 10 && r.Changes:
		f = simulated.Fate{Ghost: time.Duration(n.rng.Int64N(int64(time.Hour)))}
	}
	return f
}

func (n *network) set(cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
}

func (n *network) requests() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.count
}

// booted is one process with its own disk. All machines of a test share a bucket.
type booted struct {
	*training.Checkpointer
	disk *vfstest.Mem
	net  *network

	mu     sync.Mutex
	events []training.Event
}

const bucketName = "s3://bucket/run"

// boot opens the run on a disk, with a bucket as the further tier. change may be nil.
func boot(disk *vfstest.Mem, server *simulated.Server, net *network, change func(*training.Options)) (*booted, error) {
	m := &booted{disk: disk, net: net}
	o := &training.Options{
		Store: local.New(disk, "/run", nil), Save: training.FixedInterval{Steps: 1}, Clean: true,
		Tiers: []training.Tier{{Directory: "run", Name: bucketName,
			Store: object.New(server.Bucket(net.fate), "", object.Options{Deadline: 10 * time.Second})}},
		OnEvent: func(e training.Event) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.events = append(m.events, e)
		},
	}
	if change != nil {
		change(o)
	}
	var err error
	m.Checkpointer, err = training.Open(context.Background(), "", o)
	return m, err
}

func mustBoot(t *testing.T, disk *vfstest.Mem, server *simulated.Server, net *network,
	change func(*training.Options)) *booted {
	t.Helper()
	m, err := boot(disk, server, net, change)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// has returns the events of a kind about the tier, in order.
func (m *booted) has(kind training.EventKind) (list []training.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// eventSteps returns the steps of events.
func eventSteps(list []training.Event) []int64 {
	var out []int64
	for _, e := range list {
		out = append(out, e.Step)
	}
	return out
}

func (m *booted) save(t *testing.T, steps ...int64) {
	t.Helper()
	for _, n := range steps {
		saved, err := m.SaveCheckpointables(t.Context(), n, map[string]any{"state": model(n), "data": position(n)}, nil)
		if err != nil || !saved {
			t.Fatalf("step %d: saved %v, %v", n, saved, err)
		}
	}
}

// tier returns what the bucket has.
func (m *booted) tier() training.TierStatus { return m.Tiers()[1] }

// near returns the steps of the disk.
func (m *booted) near() []int64 { return m.Tiers()[0].Steps }

// settled waits until nothing is copied any more.
func settled(t *testing.T, m *booted) {
	t.Helper()
	for range 10_000 {
		synctest.Wait()
		if len(m.tier().Waiting) == 0 {
			return
		}
		time.Sleep(time.Second)
	}
	t.Fatalf("still waiting: %+v", m.tier())
}

// bucketHolds opens the bucket as a run of its own: it has these steps, all whole.
func bucketHolds(t *testing.T, server *simulated.Server, steps ...int64) {
	t.Helper()
	st := object.New(server.Bucket(nil), "", object.Options{})
	c, err := training.Open(t.Context(), "run", &training.Options{Store: st,
		OnEvent: func(e training.Event) { t.Errorf("in the bucket: %s, step %d: %v", e.Kind, e.Step, e.Err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if !slices.Equal(c.Steps(), steps) {
		t.Errorf("the bucket has the steps %v, want %v", c.Steps(), steps)
	}
	for _, n := range c.Steps() {
		if err := equals(t.Context(), c, n); err != nil {
			t.Error(err)
		}
	}
}

// says reports whether an error has a kind and names all parts.
func says(err error, kind errs.Kind, parts ...string) bool {
	if !errors.Is(err, kind) {
		return false
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			return false
		}
	}
	return true
}

// flipped damages a data file of a step on a disk.
func flipped(t *testing.T, disk *vfstest.Mem, step string) {
	t.Helper()
	name := largest(t, disk, "/run/"+step)
	f, err := disk.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	for i := range b {
		b[i] ^= 0x55
	}
	if err := disk.Remove(name); err != nil {
		t.Fatal(err)
	}
	w, err := disk.Create(name, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteAt(b, 0); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

// largest returns the largest data file below a directory.
func largest(t *testing.T, disk *vfstest.Mem, dir string) (name string) {
	t.Helper()
	most := int64(-1)
	var walk func(dir string)
	walk = func(dir string) {
		list, err := disk.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			at := dir + "/" + e.Name()
			if e.IsDir() {
				walk(at)
				continue
			}
			info, err := disk.Stat(at)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(at, "/d/") && info.Size() > most {
				most, name = info.Size(), at
			}
		}
	}
	walk(dir)
	return name
}
