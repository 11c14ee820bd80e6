package training_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store/local"
)

// machine is what a life of a scenario runs on: its power fails before one of its
// operations that change the disk, and the disk refuses another one.
type machine struct {
	mem           *vfstest.Mem
	dieAt, failAt int // number of the operation; 0: never
	failWith      error

	mu    sync.Mutex
	calls int
	died  *vfstest.Mem // the disk when the power failed
	hit   bool         // an operation was refused
	acked []string     // before the power failed
}

func (m *machine) around(c *vfstest.Call, do func() error) error {
	m.mu.Lock()
	if c.Op.Mutates() {
		m.calls++
	}
	if c.Op.Mutates() && m.calls == m.dieAt {
		m.died = m.mem.Clone()
	}
	refuse := c.Op.Mutates() && m.calls == m.failAt
	m.hit = m.hit || refuse
	dead := m.died != nil
	m.mu.Unlock()
	switch {
	case dead:
		return syscall.EIO
	case refuse:
		return m.failWith
	}
	return do()
}

func (m *machine) ack(event string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.died == nil {
		m.acked = append(m.acked, event)
	}
}

// excuses reports whether things may fail on this machine from now on.
func (m *machine) excuses() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.died != nil || m.hit
}

// dead reports whether the power failed.
func (m *machine) dead() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.died != nil
}

// rules are a preservation policy, and the model of it.
type rules struct {
	latest, best int
	every        int64
}

func (r rules) policy() training.PreservationPolicy {
	var p training.AnyPreservation
	if r.latest > 0 {
		p = append(p, training.LatestN{N: r.latest})
	}
	if r.best > 0 {
		p = append(p, training.BestN{N: r.best, Metric: "accuracy"})
	}
	if r.every > 0 {
		p = append(p, training.EveryNSteps{Interval: r.every})
	}
	if len(p) == 0 {
		return training.PreserveAll{}
	}
	return p
}

// kept is what the policy leaves of ascending steps.
func (r rules) kept(steps []int64) (kept []int64) {
	for i, s := range steps {
		better := 0
		for _, other := range steps {
			if accuracy(other) > accuracy(s) || accuracy(other) == accuracy(s) && other > s {
				better++
			}
		}
		all := r == rules{}
		if all || i == len(steps)-1 || i >= len(steps)-r.latest || better < r.best || r.every > 0 && s%r.every == 0 {
			kept = append(kept, s)
		}
	}
	return kept
}

// tally counts what scenarios did.
type tally struct{ scenarios, lives, losses, refusals, saves, updates, deletions, cancels int }

// scenario is a run that lives through several processes, each of which may end
// with a loss of power, with the model of what it must hold.
type scenario struct {
	*rapid.T
	h      *history
	rules  rules
	every  int64 // steps between saves
	mem    *vfstest.Mem
	events []string
	count  *tally

	m     *machine
	l     *life
	step  int64         // of the training
	steps []int64       // that are there, while nothing failed
	at    map[int64]int // their versions
}

func drawScenario(t *rapid.T, count *tally) *scenario {
	s := &scenario{T: t, mem: vfstest.NewMem(), count: count, every: rapid.Int64Range(1, 3).Draw(t, "every")}
	s.rules = rules{
		latest: rapid.IntRange(0, 3).Draw(t, "latest"),
		best:   rapid.IntRange(0, 2).Draw(t, "best"),
		every:  rapid.SampledFrom([]int64{0, 0, 4, 6}).Draw(t, "everyNSteps"),
	}
	s.h = &history{title: "scenario", updates: map[update]int{}, more: rapid.Bool().Draw(t, "more"), run: training.Options{
		Save: training.FixedInterval{Steps: s.every}, Preserve: s.rules.policy(),
		Foreground: rapid.Bool().Draw(t, "foreground"), Dedup: training.Dedup{On: rapid.Bool().Draw(t, "dedup")},
	}}
	if s.h.run.Dedup.On {
		s.h.still = rapid.IntRange(0, 2).Draw(t, "still")
	}
	s.h.run.Parity = rapid.SampledFrom([]int{0, 0, 4}).Draw(t, "parity")
	if rapid.Bool().Draw(t, "padded") {
		s.h.run.Names = training.StandardNames{Prefix: new("step"), FixedLength: 3}
	}
	return s
}

// live is one process from start to end, and what the next one finds.
func (s *scenario) live() {
	s.m = &machine{mem: s.mem, acked: slices.Clone(s.events)}
	s.m.failWith = rapid.SampledFrom([]error{syscall.EIO, syscall.ENOSPC}).Draw(s.T, "refusal")
	chance := rand.New(rand.NewPCG(rapid.Uint64().Draw(s.T, "chance"), 0)) // numbers of rapid are small ones mostly
	switch at := 1 + chance.IntN(400); rapid.IntRange(0, 3).Draw(s.T, "trouble") {
	case 0:
		s.m.failAt = at
	case 1, 2:
		s.m.dieAt = at
	}
	s.l = s.h.live(vfstest.Intercept(s.mem, s.m.around), s.m.ack, s.events)
	s.l.open()
	if s.l.err != nil && !s.m.excuses() {
		s.Fatalf("open: %v", s.l.err)
	}
	if s.l.err == nil {
		s.train()
	}
	if s.l.close(); s.l.err != nil && !s.m.excuses() {
		s.Fatalf("close: %v", s.l.err)
	}
	s.count.lives++
	disk := s.mem
	if s.m.died != nil {
		disk = s.m.died
		s.count.losses++
	} else if s.m.hit {
		s.count.refusals++
	}
	if s.m.died != nil || chance.IntN(2) == 0 { // or it is only the process that ends
		disk = disk.Sample(chance)
	}
	events, err := s.h.judge(disk, s.m.acked)
	if err != nil {
		s.Fatalf("%v\nacknowledged: %s", err, strings.Join(s.m.acked, "; "))
	}
	if chance.IntN(8) == 0 {
		if err := s.h.goesOn(disk.Clone()); err != nil {
			s.Fatal(err)
		}
	}
	s.mem, s.events = disk, events
}

// train resumes and does what training loops do.
func (s *scenario) train() {
	ledger, err := read(s.events)
	if err != nil {
		s.Fatal(err)
	}
	s.steps, s.at, s.step = nil, map[int64]int{}, 0
	for step := range int64(200) {
		if r := ledger[s.h.name(step)]; r != nil && !r.gone {
			s.steps, s.step = append(s.steps, step), step
			s.at[step] = r.high
		}
	}
	s.agree("resumed")
	for range rapid.IntRange(2, 20).Draw(s.T, "things to do") {
		if s.m.dead() {
			return
		}
		switch rapid.IntRange(0, 11).Draw(s.T, "what") {
		default:
			s.save(false)
		case 4, 5, 6, 7:
			s.save(true)
		case 8:
			s.delete()
		case 9:
			s.update()
		case 10:
			s.overwrite()
		case 11:
			s.cancel()
		}
	}
	s.agree("in the end")
}

// agree compares the checkpointer with the model.
func (s *scenario) agree(when string) {
	err := s.l.c.Wait(context.Background())
	if s.m.excuses() {
		return
	}
	if got := s.l.c.Steps(); err != nil || !slices.Equal(got, s.steps) {
		s.Fatalf("%s: steps %v, %v; want %v", when, got, err, s.steps)
	}
	last, ok := s.l.c.Latest()
	if n := len(s.steps); ok != (n > 0) || ok && last.Step != s.steps[n-1] {
		s.Fatalf("%s: the latest is %d, want the last of %v", when, last.Step, s.steps)
	}
}

// committed tells the model of a step.
func (s *scenario) committed(step int64, version int) {
	s.count.saves++
	s.at[step] = version
	if i, found := slices.BinarySearch(s.steps, step); !found {
		s.steps = slices.Insert(s.steps, i, step)
	}
	s.steps = s.rules.kept(s.steps)
}

// next begins a version of a step.
func (s *scenario) next(step int64) (version int, items map[string]any) {
	version = s.l.begin(s.h.name(step))
	delete(s.h.updates, update{step, version})
	return version, s.h.items(step, version)
}

// must fails the test, unless something was to fail.
func (s *scenario) must(what string, err error) bool {
	if err != nil && !s.m.excuses() {
		s.Fatalf("%s: %v", what, err)
	}
	return err == nil
}

func (s *scenario) options(step int64) *training.SaveOptions {
	return &training.SaveOptions{Metrics: map[string]float64{"accuracy": accuracy(step)}}
}

// save offers the next step to the policy.
func (s *scenario) save(background bool) {
	s.step++
	want, version, items := s.step%s.every == 0, 0, map[string]any{"state": map[string]any{"w": []float32{1}}}
	if want {
		version, items = s.next(s.step)
	}
	save := s.l.c.SaveCheckpointables
	if background {
		save = func(ctx context.Context, step int64, items map[string]any, o *training.SaveOptions) (bool, error) {
			_, err := s.l.c.SaveCheckpointablesAsync(ctx, step, items, o)
			if want {
				clear(items["state"].(map[string]any)["w"].([]float32))
			}
			return want, err
		}
	}
	saved, err := save(context.Background(), s.step, items, s.options(s.step))
	if !s.must("save", err) {
		return
	}
	if saved != want && !s.m.excuses() {
		s.Fatalf("step %d: saved %v, want %v", s.step, saved, want)
	}
	if want {
		s.committed(s.step, version)
	}
}

// pick is a step that is there, of a run in which nothing has failed.
func (s *scenario) pick() (step int64, ok bool) {
	s.agree("before")
	if len(s.steps) == 0 || s.m.excuses() {
		return 0, false
	}
	return rapid.SampledFrom(s.steps).Draw(s.T, "step"), true
}

func (s *scenario) delete() {
	step, ok := s.pick()
	if !ok {
		return
	}
	last := len(s.steps) == 1
	if !last {
		s.m.ack("removing " + s.h.name(step))
	}
	deleted, err := s.l.c.Delete(context.Background(), step, nil)
	if last {
		if (deleted || !errors.Is(err, errs.Invalid)) && !s.m.excuses() {
			s.Fatalf("deleting the last step: %v, %v", deleted, err)
		}
		return
	}
	if s.must("delete", err) {
		s.count.deletions++
		s.steps = slices.DeleteFunc(s.steps, func(other int64) bool { return other == step })
		s.agree("deleted")
	}
}

// update adds an item to a step, in place.
func (s *scenario) update() {
	step, ok := s.pick()
	if !ok {
		return
	}
	name := s.h.name(step)
	version := s.l.begin(name)
	s.h.updates[update{step, version}] = s.at[step]
	err := checkpoint.Save(context.Background(), name, map[string]any{"version": int64(version)}, &checkpoint.SaveOptions{
		Store: local.New(s.l.fsys, "/run", nil), Name: note(version), PartialUpdate: true,
	})
	if !s.must("update", err) {
		return
	}
	s.m.ack(fmt.Sprintf("commit %s %d", name, version))
	s.count.updates++
	s.at[step] = version
	items, err := s.l.c.LoadCheckpointables(context.Background(), step, nil)
	if s.must("load", err) && !same(s.h.items(step, version), withoutMetrics(items)) {
		s.Fatalf("step %d holds another state than its version %d", step, version)
	}
}

func (s *scenario) overwrite() {
	step, ok := s.pick()
	if !ok {
		return
	}
	version, items := s.next(step)
	o := s.options(step)
	o.Overwrite = true
	if _, err := s.l.c.SaveCheckpointables(context.Background(), step, items, o); s.must("overwrite", err) {
		s.committed(step, version)
		s.agree("overwritten")
	}
}

// cancel begins to save and gives up, in time or not.
func (s *scenario) cancel() {
	s.agree("before")
	if s.m.excuses() {
		return
	}
	s.step++
	version, items := s.next(s.step)
	o := s.options(s.step)
	o.Force = true
	if _, err := s.l.c.SaveCheckpointablesAsync(context.Background(), s.step, items, o); !s.must("save", err) {
		return
	}
	canceled, err := s.l.c.Cancel(context.Background())
	if !s.must("cancel", err) {
		return
	}
	if s.count.cancels++; !canceled {
		s.committed(s.step, version)
	}
	s.agree("cancelled")
}

// Training loops with policies, metrics, saves in the background, deletion,
// updates in place, refusals of the disk and losses of power, one after the other:
// what was acknowledged and is preserved is there and equal, what was removed is
// gone, and the steps are those that the model says.
func TestScenarios(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 1
	}
	playScenarios(t, rounds)
}

// TestLongScenarios is TestScenarios, ten thousand of them.
func TestLongScenarios(t *testing.T) {
	if os.Getenv("BIVOUAC_LONG") == "" {
		t.Skip("set BIVOUAC_LONG=1, as make test-long does")
	}
	playScenarios(t, 100)
}

// playScenarios plays as many scenarios as rapid draws, some times.
func playScenarios(t *testing.T, rounds int) {
	var count tally
	for range rounds {
		rapid.Check(t, func(t *rapid.T) {
			s := drawScenario(t, &count)
			count.scenarios++
			for range rapid.IntRange(1, 5).Draw(t, "lives") {
				s.live()
			}
		})
	}
	t.Logf("%+v; 0 acknowledged and preserved steps lost, 0 wrong, 0 that came back", count)
}
