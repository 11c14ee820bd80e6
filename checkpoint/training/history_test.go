package training_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/proof/crash"
	"github.com/bivouac-ml/bivouac/store/local"
)

// history is what happens to one run until the power fails, at every moment.
type history struct {
	title  string
	run    training.Options     // of the process that saves
	one    training.SaveOptions // of each save
	more   bool                 // a second tree and a JSON item beside "state"
	flat   bool                 // arrays and numbers alone, all that safetensors has
	still  int                  // trees whose arrays never change, from the last: the second, then "state"
	before func(l *life)        // done and durable before the script begins
	script func(l *life)
	wrap   func(vfs.FS) vfs.FS // put under the script, when not nil
	// after names the history whose power losses this one begins with: it
	// starts on some of the states that were found there, and saves what it saves.
	after string
	// updates maps a version of the step to its value: the version that it added a note to.
	updates map[update]int
	root    string           // the directory of the run; "" means the directory of runs in memory
	clock   func() time.Time // nil is one that goes by seconds
}

// at is the directory of the run.
func (h *history) at() string {
	if h.root == "" {
		return "/run"
	}
	return h.root
}

// update names a version that is a partial update.
type update struct {
	step    int64
	version int
}

// histories are tried in this order; each is a row of the table that
// TestHistories prints.
var histories = []*history{
	{title: "first save", script: func(l *life) { l.open(); l.save(0) }},
	{title: "first save, several items", more: true, script: func(l *life) { l.open(); l.save(0) }},
	{title: "first save of a run with metadata", run: training.Options{Custom: map[string]string{"run": "metadata"}},
		script: func(l *life) { l.open(); l.save(0) }},
	{title: "three saves, all kept", script: func(l *life) { l.open(); l.save(1); l.save(2); l.save(3) }},
	{title: "LatestN 1", run: training.Options{Preserve: training.LatestN{N: 1}}, before: saved(1),
		script: func(l *life) { l.open(); l.save(2); l.save(3) }},
	{title: "LatestN 2", run: training.Options{Preserve: training.LatestN{N: 2}}, before: saved(10, 20), more: true,
		script: func(l *life) { l.open(); l.save(30); l.save(40) }},
	{title: "LatestN 2 of padded names", run: training.Options{Preserve: training.LatestN{N: 2}, Names: training.StandardNames{Prefix: new("step"), FixedLength: 4}},
		before: saved(9, 10), script: func(l *life) { l.open(); l.save(11); l.save(100) }},
	{title: "EveryNSteps", run: training.Options{Preserve: training.EveryNSteps{Interval: 10}}, before: saved(10, 15),
		script: func(l *life) { l.open(); l.save(20); l.save(25) }},
	{title: "EveryNStepsClosest", run: training.Options{Preserve: training.EveryNStepsClosest{Interval: 10, Max: 2}}, before: saved(9, 12),
		script: func(l *life) { l.open(); l.save(19); l.save(31) }},
	{title: "BestN", run: training.Options{Preserve: training.BestN{N: 2, Metric: "accuracy"}}, before: saved(3, 1),
		script: func(l *life) { l.open(); l.save(5); l.save(6) }},
	{title: "BestN or LatestN", run: training.Options{Preserve: training.AnyPreservation{
		training.BestN{N: 1, Metric: "accuracy"}, training.LatestN{N: 1}}}, before: saved(3),
		script: func(l *life) { l.open(); l.save(4); l.save(7) }},
	{title: "in the background", run: training.Options{Preserve: training.LatestN{N: 2}},
		script: func(l *life) { l.open(); l.async(1, 2, 3) }},
	{title: "in the background, in bounded memory", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{MemoryBudget: 1 << 16}}, Preserve: training.LatestN{N: 1}}, more: true,
		script: func(l *life) { l.open(); l.async(1, 2) }},
	{title: "handed over", run: training.Options{Preserve: training.LatestN{N: 1}},
		script: func(l *life) { l.open(); l.handOver(1, false); l.handOver(2, true) }},
	{title: "a step overwritten", one: training.SaveOptions{Overwrite: true}, before: saved(1, 2),
		script: func(l *life) { l.open(); l.save(2); l.save(2) }},
	{title: "a step overwritten under retention", one: training.SaveOptions{Overwrite: true}, run: training.Options{Preserve: training.LatestN{N: 1}},
		before: saved(1), script: func(l *life) { l.open(); l.save(1); l.save(2); l.save(2) }},
	{title: "below the latest", before: saved(5), script: func(l *life) { l.open(); l.save(3); l.save(1) }},
	{title: "free, first save", script: func(l *life) { l.free() }},
	{title: "free, overwritten", before: func(l *life) { l.free() }, script: func(l *life) { l.free(); l.free() }},
	{title: "free, beside a run", run: training.Options{Preserve: training.LatestN{N: 1}}, before: func(l *life) { l.free(); saved(1)(l) },
		script: func(l *life) { l.open(); l.free(); l.save(2); l.free() }},
	{title: "free and steps at the same time", run: training.Options{Preserve: training.LatestN{N: 1}}, before: saved(1),
		script: func(l *life) {
			l.open()
			l.together(func(l *life) { l.free(); l.free() }, func(l *life) { l.async(2, 3) })
		}},
	{title: "set aside when opened", before: func(l *life) { saved(1, 2)(l); l.damage(2) },
		script: func(l *life) { l.open(); l.save(2) }},
	{title: "set aside by the trainer", before: saved(1, 2), script: func(l *life) { l.open(); l.quarantine(2); l.save(2); l.quarantine(2) }},
	{title: "leftovers", before: func(l *life) { saved(1)(l); l.leave(2, "0123456789abcdef"); l.leave(2, "fedcba9876543210") },
		script: func(l *life) { l.open(); l.save(2) }},
	{title: "cancelled, then saved", before: saved(1), script: func(l *life) { l.open(); l.fails(ended(), 2); l.save(2) }},
	{title: "refused for want of room, then saved", before: saved(1), script: func(l *life) { l.open(); l.fails(context.Background(), 2); l.save(2) },
		wrap: failing(vfstest.Plan{N: 9, Err: syscall.ENOSPC, Only: func(c vfstest.Call) bool { return c.Op.Mutates() }})},
	{title: "failed sync, then saved", before: saved(1), script: func(l *life) { l.open(); l.fails(context.Background(), 2); l.save(2) },
		wrap: failing(vfstest.Plan{N: 4, Err: syscall.EIO, Only: func(c vfstest.Call) bool { return c.Op == vfstest.OpSync }})},
	{title: "failed last sync, then saved", before: saved(1), script: func(l *life) { l.open(); l.fails(context.Background(), 2); l.save(3) },
		wrap: failing(unsure(2, false))},
	{title: "failed last sync, overwriting, then saved", one: training.SaveOptions{Overwrite: true}, before: saved(1),
		script: func(l *life) { l.open(); l.fails(context.Background(), 1); l.save(2) }, wrap: failing(unsure(2, false))},
	{title: "two processes, one after the other", run: training.Options{Preserve: training.LatestN{N: 2}},
		script: func(l *life) {
			l.open()
			l.save(1)
			l.close()
			l.open()
			l.save(2)
			l.close()
			l.open()
			l.save(3)
		}},
	{title: "parity", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Parity: 5}}, Preserve: training.LatestN{N: 1}}, before: saved(1),
		script: func(l *life) { l.open(); l.save(2); l.save(3) }},
	{title: "parity, a step overwritten, signed", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Parity: 3, Signing: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}}},
		one: training.SaveOptions{Overwrite: true}, before: saved(1), script: func(l *life) { l.open(); l.save(1) }},
	{title: "dedup, one tree of two changes", run: training.Options{Dedup: training.Dedup{On: true}, Preserve: training.LatestN{N: 2}}, more: true, still: 1,
		before: saved(10, 20), script: func(l *life) { l.open(); l.save(30); l.save(40) }},
	{title: "dedup, no array changes", run: training.Options{Dedup: training.Dedup{On: true, VerifyEvery: 1}, Preserve: training.LatestN{N: 1}}, more: true, still: 2,
		before: saved(1), script: func(l *life) { l.open(); l.save(2); l.save(3) }},
	{title: "dedup, everything changes", run: training.Options{Dedup: training.Dedup{On: true}, Preserve: training.LatestN{N: 1}}, before: saved(1),
		script: func(l *life) { l.open(); l.save(2); l.save(3) }},
	{title: "dedup in the background", run: training.Options{Dedup: training.Dedup{On: true}, Preserve: training.LatestN{N: 1}}, more: true, still: 1,
		script: func(l *life) { l.open(); l.async(1, 2, 3) }},
	{title: "dedup, a step overwritten", run: training.Options{Dedup: training.Dedup{On: true}}, one: training.SaveOptions{Overwrite: true}, more: true, still: 1,
		before: saved(1, 2), script: func(l *life) { l.open(); l.save(2); l.save(1) }},
	{title: "dedup, the latest set aside", run: training.Options{Dedup: training.Dedup{On: true}}, more: true, still: 2,
		before: saved(1, 2), script: func(l *life) { l.open(); l.quarantine(2); l.save(2) }},
	{title: "zarr3", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr3}}, Preserve: training.LatestN{N: 1}}, before: saved(1),
		script: func(l *life) { l.open(); l.save(2) }},
	{title: "zarr2, a step overwritten", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Layout: options.PlainZarr2}}}, one: training.SaveOptions{Overwrite: true}, before: saved(1),
		script: func(l *life) { l.open(); l.save(1) }},
	{title: "ocdbt-zarr2, in the background", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Layout: options.OCDBTZarr2}}, Preserve: training.LatestN{N: 1}},
		script: func(l *life) { l.open(); l.async(1, 2) }},
	{title: "compressed", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Compression: options.Zstd}}, Preserve: training.LatestN{N: 1}}, before: saved(1), more: true,
		script: func(l *life) { l.open(); l.save(2) }},
	{title: "safetensors", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}}, Preserve: training.LatestN{N: 1}}, flat: true, before: saved(1),
		script: func(l *life) { l.open(); l.save(2); l.save(3) }},
	{title: "safetensors, in the background", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}}, Preserve: training.LatestN{N: 1}}, flat: true,
		script: func(l *life) { l.open(); l.async(1, 2) }},
	{title: "safetensors, a step overwritten", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Layout: options.SafetensorsLayout}}}, flat: true, one: training.SaveOptions{Overwrite: true},
		before: saved(1), script: func(l *life) { l.open(); l.save(1) }},
	{title: "dedup, zarr3, compressed", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Compression: options.Zstd, Layout: options.PlainZarr3}}, Dedup: training.Dedup{On: true},
		Preserve: training.LatestN{N: 1}}, more: true, still: 2, before: saved(1), script: func(l *life) { l.open(); l.save(2) }},
	{title: "dedup, byte planes", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Compression: options.ByteSplit}}, Dedup: training.Dedup{On: true}, Preserve: training.LatestN{N: 1}},
		more: true, still: 1, before: saved(1), script: func(l *life) { l.open(); l.save(2) }},
	{title: "zarr3, byte planes", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Compression: options.ByteSplit, Layout: options.PlainZarr3}}, Preserve: training.LatestN{N: 1}},
		before: saved(1), script: func(l *life) { l.open(); l.save(2) }},
	{title: "signed", run: training.Options{Options: options.Options{Bivouac: options.Bivouac{Signing: ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))}}, Preserve: training.LatestN{N: 1}}, before: saved(1),
		script: func(l *life) { l.open(); l.save(2) }},
	{title: "after a first crash, retention", after: "LatestN 2",
		script: func(l *life) { l.open(); l.save(50); l.save(60) }},
	{title: "after a first crash, dedup", after: "dedup, one tree of two changes", script: func(l *life) { l.open(); l.save(50); l.save(60) }},
	{title: "after a first crash, overwriting", after: "free, overwritten", script: func(l *life) { l.open(); l.free() }},
	{title: "after a first crash, setting aside", after: "set aside by the trainer", script: func(l *life) { l.open(); l.save(3) }},
}

// saved are steps that were saved before.
func saved(steps ...int64) func(*life) {
	return func(l *life) {
		l.open()
		for _, s := range steps {
			l.save(s)
		}
		l.close()
	}
}

func failing(p vfstest.Plan) func(vfs.FS) vfs.FS {
	return func(fsys vfs.FS) vfs.FS { return vfstest.NewFault(fsys, p) }
}

// ended is a context whose save is cancelled before it begins to publish.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// together runs two scripts at the same time.
func (l *life) together(scripts ...func(*life)) {
	var wg sync.WaitGroup
	failures := make([]error, len(scripts))
	for i, script := range scripts {
		wg.Go(func() {
			part := &life{h: l.h, fsys: l.fsys, ack: l.ack, c: l.c, last: l.last}
			script(part)
			failures[i] = part.err
		})
	}
	wg.Wait()
	l.do(func() error { return errors.Join(failures...) })
}

func historyOf(title string) *history {
	return histories[slices.IndexFunc(histories, func(h *history) bool { return h.title == title })]
}

func (h *history) name(step int64) string {
	if h.run.Names == nil {
		return training.StandardNames{}.Name(step)
	}
	return h.run.Names.Name(step)
}

// options returns the options of a process on fsys.
func (h *history) options(fsys vfs.FS) training.Options {
	o := h.run
	o.Store, o.Clean, o.Now = local.New(fsys, h.at(), nil), true, clock()
	if h.clock != nil {
		o.Now = h.clock
	}
	return o
}

// accuracy makes later steps better, except multiples of three.
func accuracy(step int64) float64 { return float64(step) - 10*float64(step%3/2) }

func (h *history) saveOptions(step int64) *training.SaveOptions {
	o := h.one
	o.Force = true
	if _, ranked := h.run.Preserve.(training.BestN); ranked {
		o.Metrics = map[string]float64{"accuracy": accuracy(step)}
	}
	return &o
}

func (h *history) freeOptions(fsys vfs.FS) *checkpoint.SaveOptions {
	return &checkpoint.SaveOptions{Store: local.New(fsys, h.at(), nil), Overwrite: true}
}

// items are what a version of a step holds, metrics aside.
func (h *history) items(step int64, version int) map[string]any {
	if base, ok := h.updates[update{step, version}]; ok {
		items := h.items(step, base)
		items[note(version)] = map[string]any{"version": int64(version)}
		return items
	}
	title := h.title
	if h.after != "" {
		title = h.after
	}
	floats := func(still bool) []float32 {
		seed := uint64(step)<<8 + uint64(version)
		if still {
			seed = 0
		}
		r := rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(title))), seed))
		w := make([]float32, 300)
		for i := range w {
			w[i] = r.Float32()
		}
		return w
	}
	items := map[string]any{"state": map[string]any{
		"w": floats(h.still > 1), "b": []float64{float64(step), float64(version)}, "version": int64(version), "none": map[string]any{},
		"name": fmt.Sprintf("%s, step %d, version %d", title, step, version),
	}}
	if h.flat {
		state := items["state"].(map[string]any)
		delete(state, "none")
		delete(state, "name")
	}
	if h.more {
		items["average"] = map[string]any{"w": floats(h.still > 0), "n": step}
		items["data"] = json.RawMessage(fmt.Sprintf(`{"position":%d,"version":%d}`, step, version))
	}
	return items
}

// note is the item that a partial update adds.
func note(version int) string { return fmt.Sprintf("note%d", version) }

// effort is how much of a history is tried.
type effort struct {
	limit, samples int  // states of a moment, as in crash.Options
	starts         int  // first crashes that a second history goes on from
	onward         byte // one in onward states is saved to again
	quick          bool
}

// play runs a history on each of its starts.
func (h *history) play(e effort, states *crash.States) (total crash.Report, err error) {
	starts, err := h.starts(e)
	if err != nil {
		return total, err
	}
	for i, s := range starts {
		r, err := h.playFrom(s, e, uint64(i), states, nil)
		total.Moments += r.Moments
		total.States += r.States
		total.New += r.New
		total.Checks += r.Checks
		total.Sampled += r.Sampled
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

// start is where a history begins.
type start struct {
	mem   *vfstest.Mem
	acked []string
}

// starts are an empty disk with what the history does before, or the states
// that power losses left in another history, those that look the same to the
// next process left out.
func (h *history) starts(e effort) ([]start, error) {
	if h.after == "" {
		s := start{mem: vfstest.NewMem()}
		if h.before == nil {
			return []start{s}, nil
		}
		l := h.live(s.mem, func(event string) { s.acked = append(s.acked, event) }, nil)
		h.before(l)
		l.close()
		s.mem.SyncAll()
		return []start{s}, l.err
	}
	base := historyOf(h.after)
	h.run, h.one, h.more, h.still = base.run, base.one, base.more, base.still
	from, err := base.starts(e)
	if err != nil {
		return nil, err
	}
	var found []start
	var mu sync.Mutex
	seen := map[[16]byte]bool{}
	_, err = base.playFrom(from[0], effort{limit: e.limit, samples: e.samples, quick: e.quick, onward: 255}, 0, nil,
		func(before, after *vfstest.Mem, events []string) {
			mu.Lock()
			defer mu.Unlock()
			if k := after.Hash(); !seen[k] {
				seen[k] = true
				found = append(found, start{before, events})
			}
		})
	var some []start
	for i, n := 0, min(e.starts, len(found)); i < n; i++ {
		some = append(some, found[(2*i+1)*len(found)/(2*n)])
	}
	return some, err
}

// playFrom runs a history from one start; found is told of every state that was
// judged, as it was before and after.
func (h *history) playFrom(s start, e effort, seed uint64, states *crash.States,
	found func(before, after *vfstest.Mem, events []string)) (crash.Report, error) {
	work := func(fsys vfs.FS, ack func(string)) error {
		l := h.live(fsys, ack, s.acked)
		h.script(l)
		l.close()
		return l.err
	}
	check := func(fsys vfs.FS, acked []string) error {
		mem := fsys.(*vfstest.Mem)
		before := mem.Clone()
		events, err := h.judge(mem, acked)
		if err == nil && mem.Hash()[0]%e.onward == 0 {
			err = h.goesOn(mem.Clone())
		}
		if err == nil && found != nil {
			found(before, mem, events)
		}
		return err
	}
	return crash.Run(work, check, &crash.Options{
		From: s.mem, Acked: s.acked, Limit: e.limit, Samples: e.samples, Quick: e.quick, Seed: seed, States: states, Wrap: h.wrap,
	})
}

// The power fails at every moment of every history: no step that was
// acknowledged is lost, nothing wrong is loaded, and nothing is left over.
func TestHistories(t *testing.T) {
	e, want := effort{limit: 2, samples: 2, quick: true, starts: 1, onward: 64}, 1_000
	if testing.Short() {
		e.limit, e.samples, want = 2, 1, 1
	}
	playAll(t, e, want)
}

// The judge must find out a store that does not sync.
func TestHistoriesFindMissingSyncs(t *testing.T) {
	for _, title := range []string{"LatestN 2", "free, overwritten", "set aside by the trainer"} {
		h := *historyOf(title)
		for _, op := range []vfstest.Op{vfstest.OpSync, vfstest.OpSyncDir} {
			h.wrap = func(fsys vfs.FS) vfs.FS { return crash.Without(fsys, op) }
			if _, err := h.play(effort{limit: 16, samples: 8, onward: 64}, nil); !crash.IsFailure(err) {
				t.Errorf("%s without any %v: %v", title, op, err)
			}
		}
	}
}

// Histories with dedup are about links: there must be some.
func TestHistoriesLink(t *testing.T) {
	for _, h := range histories {
		if !h.run.Dedup.On || h.still == 0 || h.after != "" {
			continue
		}
		starts, err := h.starts(effort{})
		if err != nil {
			t.Fatal(err)
		}
		var links atomic.Int64
		fsys := vfstest.Intercept(starts[0].mem, func(c *vfstest.Call, do func() error) error {
			if c.Op == vfstest.OpLink {
				links.Add(1)
			}
			return do()
		})
		l := h.live(fsys, func(string) {}, starts[0].acked)
		h.script(l)
		l.close()
		if l.err != nil || links.Load() == 0 {
			t.Errorf("%s: %d links, %v", h.title, links.Load(), l.err)
		}
	}
}

// TestLongHistories is TestHistories with all states of most moments.
func TestLongHistories(t *testing.T) {
	if os.Getenv("BIVOUAC_LONG") == "" {
		t.Skip("set BIVOUAC_LONG=1, as make test-long does")
	}
	playAll(t, effort{limit: 1024, samples: 128, starts: 3, onward: 8}, 100_000)
}

// playAll plays the histories, each as a test of its own, so that one can be
// chosen; want is how many states they have all together, at least.
func playAll(t *testing.T, e effort, want int) {
	states, played := new(crash.States), 0
	t.Logf("%-44s %8s %8s %8s %8s", "history", "moments", "sampled", "checks", "states")
	for _, h := range histories {
		t.Run(h.title, func(t *testing.T) {
			began := time.Now()
			r, err := h.play(e, states)
			if err != nil {
				t.Fatal(err)
			}
			played++
			t.Logf("%-44s %8d %8d %8d %8d  %v", h.title, r.Moments, r.Sampled, r.Checks, r.New,
				time.Since(began).Round(time.Millisecond))
		})
	}
	if t.Failed() {
		return
	}
	t.Logf("%d histories, %d distinct states; 0 acknowledged steps lost, 0 wrong bytes loaded, no leftovers", played,
		states.Len())
	if played == len(histories) && states.Len() < want {
		t.Errorf("%d distinct states, want %d", states.Len(), want)
	}
}
