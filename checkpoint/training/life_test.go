package training_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
	"github.com/bivouac-ml/bivouac/tree"
)

// free is the name of the checkpoint that no step has, beside the steps.
const free = "best"

// life is a process at work in a run. Its methods are what histories are
// written in: after the first error they do nothing, and everything that they
// promise or give up is told to ack before it can be seen:
//
//	begin NAME V    version V of a step or of the free checkpoint is about to be saved
//	commit NAME V   it is durable
//	removing NAME   retention may take it away from now on
//	removed NAME    it is gone for good
//	aside NAME      it is about to be set aside
//	kept NAME       it was, and will be found there
type life struct {
	h    *history
	fsys vfs.FS
	ack  func(string)
	c    *training.Checkpointer
	err  error
	last *versions
}

// versions is the last version of each name.
type versions struct {
	mu sync.Mutex
	of map[string]int
}

// live is a process that starts on fsys after the events acked.
func (h *history) live(fsys vfs.FS, ack func(string), acked []string) *life {
	l := &life{h: h, fsys: fsys, ack: ack, last: &versions{of: map[string]int{}}}
	ledger, err := read(acked)
	l.err = err
	for name, r := range ledger {
		l.last.of[name] = r.high
	}
	return l
}

func (l *life) do(f func() error) {
	if l.err == nil {
		l.err = f()
	}
}

// tell acknowledges what the checkpointer says.
func (l *life) tell(e training.Event) {
	switch e.Kind {
	case training.SaveCommitted, training.Settled:
		if e.Err != nil {
			return
		}
		l.last.mu.Lock()
		defer l.last.mu.Unlock()
		l.ack(fmt.Sprintf("commit %s %d", e.Name, l.last.of[e.Name]))
	case training.Removed:
		l.ack("removed " + e.Name)
	case training.Quarantined:
		l.ack("kept " + l.h.name(e.Step))
	}
}

// announced says which steps a policy is about to give up.
type announced struct {
	training.PreservationPolicy
	l *life
}

func (p announced) Preserve(cs []training.Info, now time.Time) []bool {
	keep := p.PreservationPolicy.Preserve(cs, now)
	for i, k := range keep {
		if !k && i < len(cs)-1 {
			p.l.ack("removing " + cs[i].Directory)
		}
	}
	return keep
}

func (l *life) open() {
	l.do(func() (err error) {
		o := l.h.options(l.fsys)
		if o.Preserve == nil {
			o.Preserve = training.PreserveAll{}
		}
		o.Preserve, o.OnEvent = announced{o.Preserve, l}, l.tell
		l.c, err = training.Open(context.Background(), "", &o)
		return err
	})
}

func (l *life) close() {
	if l.c != nil {
		l.err = errors.Join(l.err, l.c.Close())
		l.c = nil
	}
}

// begin announces the next version of a name.
func (l *life) begin(name string) int {
	l.last.mu.Lock()
	defer l.last.mu.Unlock()
	l.last.of[name]++
	l.ack(fmt.Sprintf("begin %s %d", name, l.last.of[name]))
	return l.last.of[name]
}

// save saves the next version of a step and waits for it.
func (l *life) save(step int64) {
	l.do(func() error {
		items := l.h.items(step, l.begin(l.h.name(step)))
		_, err := l.c.SaveCheckpointables(context.Background(), step, items, l.h.saveOptions(step))
		return err
	})
}

// async saves steps in the background, one right after the other, and changes
// what it was given when each call has returned.
func (l *life) async(steps ...int64) {
	for _, step := range steps {
		l.do(func() error {
			items := l.h.items(step, l.begin(l.h.name(step)))
			_, err := l.c.SaveCheckpointablesAsync(context.Background(), step, items, l.h.saveOptions(step))
			clear(items["state"].(map[string]any)["w"].([]float32))
			return err
		})
	}
	l.do(func() error { return l.c.Wait(context.Background()) })
}

// handOver saves a step from the caller's memory.
func (l *life) handOver(step int64, watch bool) {
	l.do(func() error {
		items := l.h.items(step, l.begin(l.h.name(step)))
		o := l.h.saveOptions(step)
		done := make(chan struct{})
		o.Release, o.Watch = func() { close(done) }, watch
		r, err := l.c.SaveCheckpointablesAsync(context.Background(), step, items, o)
		if err != nil {
			return err
		}
		<-done
		clear(items["state"].(map[string]any)["w"].([]float32))
		_, err = r.Result(context.Background())
		return err
	})
}

// fails saves a step and wants an error.
func (l *life) fails(ctx context.Context, step int64) {
	l.do(func() error {
		items := l.h.items(step, l.begin(l.h.name(step)))
		if _, err := l.c.SaveCheckpointables(ctx, step, items, l.h.saveOptions(step)); err == nil {
			return fmt.Errorf("step %d was saved against all odds", step)
		}
		return nil
	})
}

// free saves the next version of the checkpoint that is not a step.
func (l *life) free() {
	l.do(func() error {
		v := l.begin(free)
		err := checkpoint.Save(context.Background(), free, l.h.items(0, v)["state"], l.h.freeOptions(l.fsys))
		if err == nil {
			l.ack(fmt.Sprintf("commit %s %d", free, v))
		}
		return err
	})
}

// quarantine sets a step aside.
func (l *life) quarantine(step int64) {
	l.do(func() error {
		l.ack("aside " + l.h.name(step))
		return l.c.Quarantine(context.Background(), step, errors.New("it diverged"))
	})
}

// damage cuts the last byte off a file of a step, and gives the step up.
func (l *life) damage(step int64) {
	l.do(func() error {
		l.ack("aside " + l.h.name(step))
		name := "/run/" + l.h.name(step) + "/state/_METADATA"
		info, err := l.fsys.Stat(name)
		if err != nil {
			return err
		}
		if err := l.fsys.Remove(name); err != nil {
			return err
		}
		f, err := l.fsys.Create(name, 0o666)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(info.Size()-1), f.Sync(), f.Close(), l.fsys.SyncDir("/run/"+l.h.name(step)+"/state"))
	})
}

// leave makes what an interrupted save leaves behind.
func (l *life) leave(step int64, nonce string) {
	l.do(func() error {
		dir := "/run/" + store.StagingName(l.h.name(step), nonce)
		if err := errors.Join(l.fsys.Mkdir(dir, 0o777), l.fsys.Mkdir(dir+"/state", 0o777)); err != nil {
			return err
		}
		f, err := l.fsys.Create(dir+"/state/_METADATA", 0o666)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(700), f.Close())
	})
}

// record is what events say of one name.
type record struct {
	low, high int  // the versions that may be found
	absent    bool // it may be missing
	gone      bool // it must be
	aside     bool // it may have been set aside
	kept      bool // what was set aside must be there
}

func read(events []string) (map[string]*record, error) {
	ledger := map[string]*record{}
	for _, e := range events {
		what, rest, _ := strings.Cut(e, " ")
		name, version, _ := strings.Cut(rest, " ")
		v := 0
		if version != "" {
			if _, err := fmt.Sscan(version, &v); err != nil {
				return nil, err
			}
		}
		r := ledger[name]
		if r == nil {
			r = &record{low: v, absent: true}
			ledger[name] = r
		}
		switch what {
		case "begin":
			if r.high = v; r.gone {
				r.low, r.gone, r.absent = v, false, true
			}
		case "commit":
			*r = record{low: v, high: max(v, r.high), aside: r.aside, kept: r.kept}
		case "removing":
			r.absent = true
		case "removed":
			r.absent, r.gone = true, true
		case "aside":
			r.absent, r.aside = true, true
		case "kept":
			r.gone, r.kept = true, true
		default:
			return nil, fmt.Errorf("an event of an unknown kind: %q", e)
		}
	}
	return ledger, nil
}

// judge looks at what a process finds that starts after the failure: whatever
// was promised is there, what is there is whole and of a version that may be,
// what was removed stays so, and after opening nothing is left over. It returns
// what was found as events of a history that goes on from there.
func (h *history) judge(fsys vfs.FS, acked []string) ([]string, error) {
	ledger, err := read(acked)
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	o := h.options(fsys)
	var torn error
	o.OnEvent = func(e training.Event) {
		r := ledger[h.name(e.Step)]
		if (e.Kind == training.Skipped || e.Kind == training.Quarantined) && (r == nil || !r.aside) {
			torn = fmt.Errorf("step %d is visible and not whole: %w", e.Step, e.Err)
		}
	}
	c, err := training.Open(ctx, "", &o)
	if err != nil {
		return nil, err
	}
	defer c.Close() //nolint:errcheck // nothing was saved
	if torn != nil {
		return nil, torn
	}
	found := map[string]int{}
	for _, in := range c.Checkpoints() {
		items, err := c.LoadCheckpointables(ctx, in.Step, nil)
		if err != nil {
			return nil, err
		}
		if found[in.Directory], err = h.version(in.Step, withoutMetrics(items), ledger[in.Directory]); err != nil {
			return nil, fmt.Errorf("step %d: %w", in.Step, err)
		}
	}
	if err := h.judgeFree(fsys, ledger[free], found); err != nil {
		return nil, err
	}
	if err := h.judgeNames(fsys, ledger, found); err != nil {
		return nil, err
	}
	return retold(ledger, found), nil
}

// retold are the events after which the names are as they were found.
func retold(ledger map[string]*record, found map[string]int) (events []string) {
	for _, name := range slices.Sorted(maps.Keys(ledger)) {
		if v := found[name]; v != 0 {
			events = append(events, fmt.Sprintf("begin %s %d", name, v), fmt.Sprintf("commit %s %d", name, v))
		} else {
			events = append(events, fmt.Sprintf("begin %s %d", name, ledger[name].high), "removed "+name)
		}
	}
	return events
}

// version tells which version was loaded.
func (h *history) version(step int64, items map[string]any, r *record) (int, error) {
	if r == nil || r.gone {
		return 0, errors.New("it is there, and nobody saved it, or it was removed")
	}
	for v := r.high; v >= r.low; v-- {
		if same(h.items(step, v), items) {
			return v, nil
		}
	}
	return 0, fmt.Errorf("it holds another state than versions %d to %d", r.low, r.high)
}

func (h *history) judgeFree(fsys vfs.FS, r *record, found map[string]int) error {
	if r == nil {
		return nil
	}
	st := local.New(fsys, h.at(), nil)
	if _, err := st.Stat(context.Background(), free); err != nil && r.absent {
		return nil
	}
	got, err := checkpoint.Load(context.Background(), free, &checkpoint.LoadOptions{Store: st})
	if err != nil {
		return err
	}
	for v := r.high; v >= r.low; v-- {
		if same(map[string]any{"state": h.items(0, v)["state"]}, map[string]any{"state": got}) {
			found[free] = v
			return nil
		}
	}
	return fmt.Errorf("the free checkpoint holds another state than versions %d to %d", r.low, r.high)
}

// judgeNames compares what is in the directory with what was promised.
func (h *history) judgeNames(fsys vfs.FS, ledger map[string]*record, found map[string]int) error {
	set := map[string]bool{}
	for e, err := range local.New(fsys, h.at(), nil).List(context.Background(), "") {
		if err != nil {
			return err
		}
		if store.IsStaging(e.Name) {
			return fmt.Errorf("%s is left over", e.Name)
		}
		if name, _, damaged := strings.Cut(e.Name, ".damaged"); damaged {
			set[name] = true
		}
	}
	for name, r := range ledger {
		switch {
		case found[name] != 0:
		case !r.absent:
			return fmt.Errorf("%s was acknowledged and is gone", name)
		case r.kept && !set[name]:
			return fmt.Errorf("%s was set aside and was deleted", name)
		}
	}
	return nil
}

// same compares what was saved with what was loaded.
func same(want, got map[string]any) bool {
	if len(want) != len(got) {
		return false
	}
	for name, w := range want {
		if raw, ok := w.(json.RawMessage); ok {
			if g, ok := got[name].(json.RawMessage); !ok || !bytes.Equal(raw, g) {
				return false
			}
			continue
		}
		n, err := tree.From(w)
		g, ok := got[name].(*tree.Node)
		if err != nil || !ok || !tree.Equal(n, g) {
			return false
		}
	}
	return true
}

// goesOn saves one more step after a power loss: the run is as good as before.
func (h *history) goesOn(fsys vfs.FS) error {
	const next = 1_000_000
	l := h.live(fsys, func(string) {}, nil)
	l.open()
	l.save(next)
	l.do(func() error {
		items, err := l.c.LoadCheckpointables(context.Background(), training.Latest, nil)
		if last, _ := l.c.Latest(); err == nil && (last.Step != next || !same(h.items(next, 1), withoutMetrics(items))) {
			err = errors.New("the step saved after the power loss holds another state")
		}
		return err
	})
	l.close()
	if l.err != nil {
		return fmt.Errorf("going on: %w", l.err)
	}
	return h.judgeNames(fsys, nil, nil)
}

func withoutMetrics(items map[string]any) map[string]any {
	delete(items, "metrics")
	return items
}

// clock gives every reading another second, so that times differ and are the
// same in each run.
func clock() func() time.Time {
	var mu sync.Mutex
	now := time.Unix(1_700_000_000, 0)
	return func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		now = now.Add(time.Second)
		return now
	}
}
