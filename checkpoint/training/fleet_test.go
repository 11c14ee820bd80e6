//go:build linux

package training_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/integrity"
	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/tree"
)

// A fleet is several processes at work in one directory:
//
//	trainer    saves, overwrites, deletes and reloads; its disk is full at times, and its clock steps
//	evaluator  lists, describes, verifies and loads what it finds; it never writes
//	notary     overwrites, updates and deletes a checkpoint that is no step
//	repairer   repairs the directory whenever nobody holds its lock
//
// The test kills, stops and continues them. A member that sees what must not be
// prints a line that begins with "finding". What the trainer promised is judged
// each time that it was killed, as in TestScenarios.
const fleetMember = "BIVOUAC_FLEET_MEMBER" // role, directory and seed of a child

// fleetHistory is what all members know of what is saved.
func fleetHistory(dir string) *history {
	return &history{title: "fleet", more: true, updates: map[update]int{}, root: dir,
		run: training.Options{Preserve: training.LatestN{N: 3}}}
}

// TestFleetMember is a child of TestFleet.
func TestFleetMember(t *testing.T) {
	role, rest, _ := strings.Cut(os.Getenv(fleetMember), " ")
	if role == "" {
		t.Skip("this is the child of TestFleet and TestLongFleet")
	}
	number, dir, _ := strings.Cut(rest, " ")
	seed, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{h: fleetHistory(dir), r: rand.New(rand.NewPCG(seed, 2)), dir: dir}
	map[string]func(){"trainer": m.train, "evaluator": m.evaluate, "notary": m.notary, "repairer": m.repair}[role]()
}

// member is a child.
type member struct {
	h   *history
	r   *rand.Rand
	dir string
	out sync.Mutex
}

func (m *member) say(line string) {
	m.out.Lock()
	defer m.out.Unlock()
	fmt.Println(strings.ReplaceAll(line, "\n", " "))
}

func (m *member) finding(format string, a ...any) { m.say("finding " + fmt.Sprintf(format, a...)) }

// disk is one that is full at times.
func (m *member) disk(full *atomic.Bool) vfs.FS {
	return vfstest.Intercept(vfs.OS(), func(c *vfstest.Call, do func() error) error {
		if full.Load() && (c.Op == vfstest.OpCreate || c.Op == vfstest.OpMkdir || c.Op == vfstest.OpAllocate ||
			c.Op == vfstest.OpWriteAt) {
			return syscall.ENOSPC
		}
		return do()
	})
}

// train is a trainer that goes on where the events on its standard input end.
func (m *member) train() {
	var acked []string
	for lines := bufio.NewScanner(os.Stdin); lines.Scan() && lines.Text() != ""; {
		acked = append(acked, lines.Text())
	}
	var full atomic.Bool
	var hours atomic.Int64
	l := m.h.live(m.disk(&full), func(event string) { m.say("ack " + event) }, acked)
	now := clock()
	m.h.clock = func() time.Time { return now().Add(time.Duration(hours.Load()) * time.Hour) }
	for l.open(); errors.Is(l.err, errs.Busy); l.open() { // a repair is under way
		l.err = nil
	}
	if l.err != nil {
		m.finding("open: %v", l.err)
		return
	}
	next := int64(0)
	if last, ok := l.c.Latest(); ok {
		next = last.Step + 1
	}
	go func() { // a second goroutine of the trainer
		for {
			if err := l.c.Reload(context.Background()); err != nil {
				m.finding("reload: %v", err)
			}
		}
	}()
	m.say("ready")
	for {
		was := full.Load()
		err := l.c.Wait(context.Background()) // what is picked then is not about to be removed
		switch what := m.r.IntN(20); {
		case what < 8:
			err = m.save(l, next, false)
			next++
		case what < 15:
			steps := l.c.Steps()
			if len(steps) > 0 {
				err = m.save(l, steps[m.r.IntN(len(steps))], true)
			}
		case what == 15:
			if steps := l.c.Steps(); len(steps) > 1 {
				step := steps[m.r.IntN(len(steps))]
				l.ack("removing " + m.h.name(step))
				_, err = l.c.Delete(context.Background(), step, &training.DeleteOptions{MissingOK: true})
			}
		case what == 16:
			full.Store(m.r.IntN(3) == 0)
		case what == 17:
			hours.Store(int64(m.r.IntN(2000) - 1000))
		}
		if err != nil && !errors.Is(err, errs.Exhausted) && !was && !full.Load() {
			m.finding("training: %v", err)
		}
	}
}

// save saves the next version of a step.
func (m *member) save(l *life, step int64, overwrite bool) error {
	items := m.h.items(step, l.begin(m.h.name(step)))
	_, err := l.c.SaveCheckpointables(context.Background(), step, items,
		&training.SaveOptions{Force: true, Overwrite: overwrite})
	if err != nil {
		return err
	}
	// What Save has returned for is there, unless it was given up since.
	if _, err := os.Stat(filepath.Join(m.dir, m.h.name(step))); err != nil && overwrite &&
		step == l.c.Steps()[len(l.c.Steps())-1] {
		m.finding("step %d was saved and is not there: %v", step, err)
	}
	return nil
}

// expected reports whether a reader may be told this: what was removed is not there.
func expected(err error) bool { return err == nil || errors.Is(err, errs.NotFound) }

// evaluate is a reader.
func (m *member) evaluate() {
	ctx := context.Background()
	c, err := training.Open(ctx, m.dir, &training.Options{OnEvent: func(e training.Event) {
		if e.Kind == training.Skipped || e.Kind == training.Quarantined {
			m.finding("a reader was told that step %d is damaged: %v", e.Step, e.Err)
		}
	}})
	if err != nil {
		m.finding("a reader opens: %v", err)
		return
	}
	m.say("ready")
	for n := 0; ; n++ {
		if n%100 == 0 {
			m.say("alive")
		}
		if err := c.Reload(ctx); err != nil {
			m.finding("a reader reloads: %v", err)
		}
		for _, in := range c.Checkpoints() {
			switch m.r.IntN(4) {
			case 0:
				if _, err := c.Metadata(ctx, in.Step); !expected(err) {
					m.finding("metadata of step %d: %v", in.Step, err)
				}
			case 1:
				r, err := integrity.Verify(ctx, filepath.Join(m.dir, in.Directory), nil)
				if !expected(err) || err == nil && !r.OK() {
					m.finding("verify of step %d: %v", in.Step, errors.Join(append(r.Problems, err)...))
				}
			default:
				items, err := c.LoadCheckpointables(ctx, in.Step, nil)
				if !expected(err) {
					m.finding("load of step %d: %v", in.Step, err)
				}
				if err == nil && !same(m.h.items(in.Step, versionIn(items)), withoutMetrics(items)) {
					m.finding("step %d holds what nobody saved", in.Step)
				}
			}
		}
		items, err := checkpoint.LoadCheckpointables(ctx, filepath.Join(m.dir, free), nil)
		if !expected(err) {
			m.finding("load of the checkpoint that is no step: %v", err)
		}
		if err == nil {
			delete(items, "note")
			if !same(map[string]any{"state": m.h.items(0, versionIn(items))["state"]}, items) {
				m.finding("the checkpoint that is no step holds what nobody saved: version %d, %v", versionIn(items), items)
			}
		}
	}
}

// versionIn is the version that a state says it is.
func versionIn(items map[string]any) int {
	n, ok := items["state"].(*tree.Node)
	if !ok {
		return 0
	}
	for _, e := range tree.Flatten(n) {
		if v, ok := e.Node.Value.(int64); ok && e.Path.Param() == "version" {
			return int(v)
		}
	}
	return 0
}

// notary writes a checkpoint that is not a step, beside everybody else.
func (m *member) notary() {
	ctx := context.Background()
	name := filepath.Join(m.dir, free)
	m.say("ready")
	for version := 1; ; version++ {
		if version%100 == 0 {
			m.say("alive")
		}
		var err error
		switch m.r.IntN(6) {
		case 0:
			_, err = checkpoint.Delete(ctx, name, &checkpoint.DeleteOptions{MissingOK: true})
		case 1, 2:
			if _, serr := os.Stat(name); serr == nil {
				err = checkpoint.Save(ctx, name, map[string]any{"version": int64(version)},
					&checkpoint.SaveOptions{Name: "note", PartialUpdate: true, Overwrite: true})
			}
		default:
			err = checkpoint.Save(ctx, name, m.h.items(0, version)["state"], &checkpoint.SaveOptions{Overwrite: true})
		}
		if err != nil {
			m.finding("the checkpoint that is no step: %v", err)
		}
	}
}

// repair repairs what a trainer that was killed left.
func (m *member) repair() {
	m.say("ready")
	for n := 0; ; n++ {
		if n%100 == 0 {
			m.say("alive")
		}
		r, err := integrity.Repair(context.Background(), m.dir,
			&integrity.RepairOptions{Apply: true, Quick: m.r.IntN(2) == 0})
		if !expected(err) && !errors.Is(err, errs.Busy) {
			m.finding("repair: %v", err)
			continue
		}
		for _, p := range r.Problems {
			if !errors.Is(p, errs.Busy) { // what it was about to change was replaced: it can be run again
				m.finding("repair has a problem: %v", p)
			}
		}
		for _, a := range r.Actions {
			if a.Kind == integrity.RepairSetAside {
				m.finding("repair sets %s aside: %v", a.Path, a.Why)
			}
		}
	}
}

// fleet is the parent's side.
type fleet struct {
	dir      string
	seed     uint64
	h        *history
	findings chan string
	wg       sync.WaitGroup
	members  []*exec.Cmd
	stats    struct{ kills, stops, events int }
}

// start starts a member; told is called with what it says, from another goroutine,
// and returns false when the member has said enough and is killed.
func (f *fleet) start(role, stdin string, told func(line string) bool) (*exec.Cmd, <-chan struct{}, error) {
	f.seed++
	cmd := exec.Command(os.Args[0], "-test.run=^TestFleetMember$", "-test.v")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %s", fleetMember, role, f.seed, f.dir))
	cmd.Stdin = strings.NewReader(stdin + "\n")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	over := make(chan struct{})
	f.wg.Go(func() {
		defer close(over)
		f.listen(cmd, role, out, told)
	})
	return cmd, over, nil
}

func (f *fleet) listen(cmd *exec.Cmd, role string, out io.Reader, told func(line string) bool) {
	enough := false
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "finding "):
			f.findings <- role + ": " + line
		case strings.HasPrefix(line, "panic:"), strings.HasPrefix(line, "fatal error:"):
			f.findings <- role + ": " + line
		}
		said = line
		if !told(line) && !enough { // what it has said since is heard all the same
			enough = true
			cmd.Process.Kill() //nolint:errcheck // it may be over
		}
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		f.findings <- fmt.Sprintf("%s ended by itself: %v: %s", role, err, said)
	}
}

// life is one life of the trainer, which is killed after a given number of its events.
func (f *fleet) life(acked []string, events, stopAt int) ([]string, error) {
	var cmd *exec.Cmd
	started := make(chan struct{})
	heard := 0
	cmd, over, err := f.start("trainer", strings.Join(acked, "\n"), func(line string) bool {
		<-started
		event, ok := strings.CutPrefix(line, "ack ")
		if !ok {
			return true
		}
		acked = append(acked, event)
		heard++
		if heard == stopAt { // the others see it stand still in the middle of something
			cmd.Process.Signal(syscall.SIGSTOP) //nolint:errcheck // it may be over
			cmd.Process.Signal(syscall.SIGCONT) //nolint:errcheck // as above
			f.stats.stops++
		}
		return heard < events
	})
	if err != nil {
		return nil, err
	}
	close(started)
	<-over
	f.stats.kills++
	f.stats.events += heard
	return acked, nil
}

// judge looks at what a trainer that was killed left, as the next one would.
func (f *fleet) judge(acked []string) ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, e := range entries {
		if strings.Contains(e.Name(), ".damaged") {
			return nil, fmt.Errorf("%s: a healthy step was set aside", e.Name())
		}
	}
	for {
		retold, err := f.h.judge(notarySpared{vfs.OS()}, acked)
		if !errors.Is(err, errs.Busy) { // a repair is under way
			return retold, err
		}
	}
}

// notarySpared hides what the notary has under way from the judge of the steps, and
// what a reader has a lease of or another member is freeing.
type notarySpared struct{ vfs.FS }

func (n notarySpared) ReadDir(name string) ([]os.DirEntry, error) {
	list, err := n.FS.ReadDir(name)
	kept := list[:0]
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), free+".") && !(store.IsStaging(e.Name()) && inUse(filepath.Join(name, e.Name()))) {
			kept = append(kept, e)
		}
	}
	return kept, err
}

// inUse reports whether somebody has the lock of a directory, or it is gone.
func inUse(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return true
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// play lets the fleet loose for some lives of the trainer, or until enough says so.
func (f *fleet) play(t *testing.T, enough func(lives int) bool) {
	t.Logf("seed %d", f.seed)
	r := rand.New(rand.NewPCG(f.seed, 3))
	f.h = fleetHistory(f.dir)
	f.findings = make(chan string, 1<<16)
	if err := os.MkdirAll(f.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	defer func() {
		for _, cmd := range f.members {
			cmd.Process.Kill() //nolint:errcheck // it may be over
		}
		f.wg.Wait()
	}()
	for _, role := range []string{"evaluator", "evaluator", "notary", "repairer"} {
		f.member(t, role)
	}
	var acked []string
	began := time.Now()
	for lives := 0; !enough(lives); lives++ {
		events, err := f.life(acked, 20+r.IntN(100), r.IntN(60))
		if err != nil {
			t.Fatal(err)
		}
		f.found(t, began)
		if acked, err = f.judge(events); err != nil {
			t.Errorf("after kill %d: %v\nacknowledged: %s", lives, err, strings.Join(events[max(0, len(events)-60):], "; "))
		}
		f.found(t, began)
		if t.Failed() {
			return
		}
		i := r.IntN(len(f.members)) // one of the others goes too, at times
		if r.IntN(3) == 0 {
			f.members[i].Process.Signal(syscall.SIGSTOP) //nolint:errcheck // it may be over
			f.stats.stops++
		} else {
			f.members[i].Process.Signal(syscall.SIGCONT) //nolint:errcheck // as above
		}
	}
	t.Logf("%d kills, %d stops, %d events", f.stats.kills, f.stats.stops, f.stats.events)
}

// member keeps one of a role alive.
func (f *fleet) member(t *testing.T, role string) {
	cmd, _, err := f.start(role, "", func(string) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	f.members = append(f.members, cmd)
}

// found tells what members found.
func (f *fleet) found(t *testing.T, began time.Time) {
	for n := 0; ; n++ {
		select {
		case line := <-f.findings:
			if n < 20 {
				t.Errorf("after %v: %s", time.Since(began).Round(time.Millisecond), line)
			}
		default:
			return
		}
	}
}

// Processes that train, evaluate, repair, overwrite, remove and reload in one
// directory, with kills, stops, full disks and steps of the clock: nothing that was
// acknowledged is lost, nothing healthy is set aside, and no reader is told that
// something is damaged.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	f := &fleet{dir: filepath.Join(t.TempDir(), "run"), seed: uint64(time.Now().UnixNano())}
	f.play(t, func(lives int) bool { return lives == 4 })
}

// TestLongFleet is TestFleet for ten minutes.
func TestLongFleet(t *testing.T) {
	if os.Getenv("BIVOUAC_LONG") == "" {
		t.Skip("set BIVOUAC_LONG=1, as make test-long does")
	}
	f := &fleet{dir: filepath.Join(t.TempDir(), "run"), seed: uint64(time.Now().UnixNano())}
	until := time.Now().Add(10 * time.Minute)
	f.play(t, func(int) bool { return time.Now().After(until) })
}
