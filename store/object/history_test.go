package object_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/simulated"
)

// A history is what several processes do to one directory of a simulated object store, over a
// network with faults, some of them killed at any request. Its laws:
//
//   - what a reader sees of a directory is one directory, whole;
//   - of writers that do not overwrite, one wins a name until somebody takes the directory away;
//   - what was acknowledged is there at the end, unless somebody took it away who was not through
//     before;
//   - a lock has one holder;
//   - no call outlasts its deadline;
//   - when all is over, and CleanStaging was called, each key belongs to a directory that exists.

// world is one history.
type world struct {
	seed   uint64
	server *simulated.Server
	change func(object.Bucket) object.Bucket // a wrong implementation; nil is the right one
	opt    object.Options

	mu      sync.Mutex
	broken  []string
	wins    map[string][]string        // writers whose commit was acknowledged, by name, without overwriting
	content map[string]map[string]bool // what each name may hold
	taken   map[string]int             // how often somebody tried to replace, remove or move what has a name
	events  []event
	holders int  // of the lock
	moved   bool // a directory may have got another name
}

func (w *world) violated(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.broken = append(w.broken, fmt.Sprintf(format, args...))
}

var digits = regexp.MustCompile(`[0-9a-f]{16}`)

// actor is one process.
type actor struct {
	w     *world
	name  string
	id    uint64
	rng   *rand.Rand
	store *object.Store

	mu     sync.Mutex
	counts map[string]int
	left   int       // requests until it is killed; below 0 never
	fatal  string    // it is killed when it puts this kind of key
	until  time.Time // it is stopped until then
	killed bool
	ctx    context.Context
	kill   context.CancelFunc
}

var errKilled = errors.New("killed")

// fate decides about a request by what it is, so that a history depends on the seed alone.
func (a *actor) fate(r simulated.Request) simulated.Fate {
	if a.stopped() {
		return simulated.Fate{Ghost: 1} // it was on its way, and nobody waited for the reply
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	what := r.Kind + " " + digits.ReplaceAllString(r.Key, "x")
	a.counts[what]++
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s %d", a.w.seed, a.id, what, a.counts[what])
	rng := rand.New(rand.NewPCG(h.Sum64(), 1))
	f := simulated.Fate{Delay: time.Duration(rng.IntN(40e6) + 1), Reply: time.Duration(rng.IntN(20e6) + 1)}
	if a.killed {
		return simulated.Fate{Err: errKilled}
	}
	if a.left > 0 {
		if a.left--; a.left == 0 || a.fatal != "" && r.Kind == "Put" && strings.Contains(r.Key, a.fatal) {
			a.killed = true
			a.kill()
			if rng.IntN(2) == 0 { // the last request may still arrive
				return simulated.Fate{Ghost: time.Duration(rng.Int64N(int64(2 * time.Hour)))}
			}
			return simulated.Fate{Err: errKilled}
		}
	}
	switch n := rng.IntN(100); {
	case n < 3:
		f.Err = simulated.ErrSlow
	case n < 5 && r.Changes:
		f.Err = simulated.ErrConflict
	case n < 7:
		f.Err = simulated.ErrServer
	case n < 11:
		f.Lost = true
	case n < 13 && r.Changes:
		f = simulated.Fate{Ghost: time.Duration(rng.Int64N(int64(time.Hour)))}
	case n < 14:
		f.Delay = time.Duration(rng.Int64N(int64(3 * time.Minute)))
	}
	return f
}

// stop stops the process for longer than a lease lasts.
func (a *actor) stop() {
	d := 4*a.w.opt.Lease + time.Duration(a.rng.Int64N(int64(a.w.opt.Lease)))
	a.mu.Lock()
	a.until = time.Now().Add(d)
	a.mu.Unlock()
	time.Sleep(d)
}

// stopped waits while the process is stopped, and reports whether it was.
func (a *actor) stopped() bool {
	a.mu.Lock()
	wait := time.Until(a.until)
	a.mu.Unlock()
	time.Sleep(max(wait, 0))
	return wait > 0
}

func (w *world) actor(i int, name string, left int) *actor {
	a := &actor{w: w, name: name, id: uint64(i), counts: map[string]int{}, left: left,
		rng: rand.New(rand.NewPCG(w.seed, uint64(i)))}
	a.ctx, a.kill = context.WithCancel(context.Background())
	b := w.server.Bucket(a.fate)
	if w.change != nil {
		b = w.change(b)
	}
	a.store = object.New(b, "p/", w.opt)
	return a
}

func (a *actor) dead() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.killed
}

// timed runs one call and says if it took longer than its requests may.
func (a *actor) timed(what string, call func() error) error {
	began := time.Now()
	err := call()
	if d := time.Since(began); d > 100*a.w.opt.Deadline {
		a.w.violated("%s: %s took %s", a.name, what, d)
	}
	return err
}

// step returns one of the names.
func (a *actor) step() string { return "run/" + strconv.Itoa(a.rng.IntN(3)) }

// save writes a directory whose objects say who wrote it.
func (a *actor) save(overwrite bool) {
	name := a.step()
	id := fmt.Sprintf("%s-%d", a.name, a.rng.Uint32())
	began := time.Now()
	if overwrite {
		a.w.touch(a, name)
	}
	err := a.timed("save", func() error {
		t, err := a.store.Begin(a.ctx, name, store.TxnOptions{Overwrite: overwrite})
		if err != nil {
			return err
		}
		defer t.Abort() //nolint:errcheck // commits say whether they succeeded
		objects := 1 + a.rng.IntN(3)
		for i := range objects {
			b := body(id, i, a.rng.IntN(60))
			w, err := t.Create(a.ctx, fmt.Sprintf("d/%d", i), int64(len(b)))
			if err == nil {
				err = w.WriteAt(a.ctx, b, 0)
			}
			if err == nil {
				err = w.Seal(a.ctx)
			}
			if err != nil {
				return err
			}
		}
		if a.rng.IntN(2) == 0 {
			if other := a.step(); other != name {
				t.Link(a.ctx, "linked", other+"/d/0") //nolint:errcheck // it may not be there
			}
		}
		a.w.mayHold(name, id)
		if a.rng.IntN(8) == 0 {
			a.stop()
		}
		return t.Commit(a.ctx, store.Blob{Name: "manifest", Data: fmt.Appendf(nil, "%s %d", id, objects)})
	})
	if err == nil || overwrite {
		a.w.note(a, event{name: name, id: id, begin: began}, err)
	}
	if err == nil && !overwrite {
		a.w.mu.Lock()
		a.w.wins[name] = append(a.w.wins[name], id)
		a.w.mu.Unlock()
	}
	a.w.unexpected(a, "save", err)
}

func body(id string, i, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%s/%d ", id, i), 1+n)
}

func (w *world) mayHold(name, id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.content[name] == nil {
		w.content[name] = map[string]bool{}
	}
	w.content[name][id] = true
}

// event is a call that changes what has a name.
type event struct {
	name       string
	id         string // of the writer; empty if the call takes something away
	begin, end time.Time
}

// touch notes a call that takes something away, and returns what to do at its end.
func (w *world) touch(a *actor, names ...string) (end func(err error)) {
	began := time.Now()
	w.mu.Lock()
	for _, name := range names {
		w.taken[name]++
	}
	w.mu.Unlock()
	return func(err error) {
		for _, name := range names {
			w.note(a, event{name: name, begin: began}, err)
		}
	}
}

// note keeps an event that ends now. The end of a call that may still have effects is never.
func (w *world) note(a *actor, e event, err error) {
	e.end = time.Now()
	switch kind := errs.KindOf(err); {
	case err == nil && e.id != "":
	case err == nil, kind == errs.Exists, kind == errs.NotFound:
		e.id = ""
	default:
		e.id, e.end = "", e.end.AddDate(100, 0, 0)
	}
	if err != nil && a.dead() {
		e.id, e.end = "", e.end.AddDate(100, 0, 0)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
}

// survivor returns the writer of the last save of a name that was acknowledged, if every call that
// took something away from the name was over before the save began.
func (w *world) survivor(name string) string {
	last := event{}
	for _, e := range w.events {
		if e.name == name && e.id != "" && e.begin.After(last.begin) {
			last = e
		}
	}
	for _, e := range w.events {
		if e.name == name && e.id != last.id && e.end.After(last.begin) {
			return ""
		}
	}
	return last.id
}

func (w *world) moves() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.moved = true
}

// unexpected notes errors that a store with these faults never gives.
func (w *world) unexpected(a *actor, what string, err error) {
	if err == nil || a.dead() {
		return
	}
	switch errs.KindOf(err) {
	case errs.Exists, errs.NotFound, errs.Busy, errs.Canceled, errs.IO:
		return
	}
	w.violated("%s: %s: %v", a.name, what, err)
}

// read reads a directory through a pin and checks that it is one, whole.
func (a *actor) read(name string) (id string) {
	p, err := store.Pin(a.ctx, a.store, name)
	if err != nil {
		a.w.unexpected(a, "pin", err)
		return ""
	}
	defer p.Close()
	leased := false
	if a.rng.IntN(2) == 0 {
		if err := p.Lease(a.ctx); err != nil {
			a.w.unexpected(a, "lease", err)
			return ""
		}
		leased = true
	}
	id, err = whole(a.ctx, p, name)
	switch {
	case err == nil:
	case errors.Is(err, errTorn):
		a.w.violated("%s: %s: %v", a.name, name, err)
	case errs.KindOf(err) == errs.NotFound && !leased && !errors.Is(p.Fate(a.ctx, name), errs.NotFound) && !a.dead():
		// A directory without its objects: unless it was removed meanwhile, which Fate says.
		if fate := p.Fate(a.ctx, name); fate == nil {
			a.w.violated("%s: %s has its name, and not its objects: %v", a.name, name, err)
		}
	case errs.KindOf(err) == errs.NotFound && leased && !a.dead():
		a.w.violated("%s: %s lost its objects under a lease: %v", a.name, name, err)
	default:
		a.w.unexpected(a, "read", err)
	}
	return id
}

var errTorn = errors.New("torn")

// whole reads all of a directory. id is who wrote it.
func whole(ctx context.Context, st store.Store, name string) (id string, err error) {
	b, err := store.ReadAll(ctx, st, name+"/manifest")
	if err != nil {
		return "", err
	}
	id, count, _ := strings.Cut(string(b), " ")
	n, err := strconv.Atoi(count)
	if err != nil {
		return id, fmt.Errorf("%w: the manifest is %q", errTorn, b)
	}
	for i := range n {
		b, err := store.ReadAll(ctx, st, fmt.Sprintf("%s/d/%d", name, i))
		if err != nil {
			return id, err
		}
		if !bytes.HasPrefix(b, fmt.Appendf(nil, "%s/%d ", id, i)) {
			return id, fmt.Errorf("%w: object %d of %s is %.40q", errTorn, i, id, b)
		}
	}
	if _, err := st.Stat(ctx, name+"/linked"); errs.KindOf(err) == errs.NotFound {
		return id, nil
	} else if err != nil {
		return id, err
	}
	if b, err = store.ReadAll(ctx, st, name+"/linked"); err != nil {
		return id, err
	}
	if !bytes.Contains(b, []byte("/0 ")) {
		return id, fmt.Errorf("%w: the linked object is %.40q", errTorn, b)
	}
	return id, nil
}

// lock takes the lock of the directory for a while.
func (a *actor) lock() {
	var l io.Closer
	err := a.timed("lock", func() (err error) {
		l, err = a.store.Lock(a.ctx, "run")
		return err
	})
	if err != nil {
		a.w.unexpected(a, "lock", err)
		return
	}
	for range 1 + a.rng.IntN(4) {
		time.Sleep(a.w.opt.Lease / 8)
		if l.(store.HeldLock).Check(a.ctx) != nil { //nolint:forcetypeassert // the store's locks are held locks
			break
		}
		a.w.mu.Lock()
		a.w.holders++
		two := a.w.holders > 1
		a.w.mu.Unlock()
		if two {
			a.w.violated("%s: a lock with two holders", a.name)
		}
		time.Sleep(a.w.opt.Lease / 4) // the lock was renewed at most one deadline ago
		a.w.mu.Lock()
		a.w.holders--
		a.w.mu.Unlock()
	}
	l.Close() //nolint:errcheck // the requests of a process that was killed fail, and the next holder waits
}

// act does one thing.
func (a *actor) act() {
	switch n := a.rng.IntN(100); {
	case n < 33:
		a.save(false)
	case n < 43:
		a.save(true)
	case n < 57:
		a.read(a.step())
	case n < 68:
		name := a.step()
		end := a.w.touch(a, name)
		err := a.timed("remove", func() error { return a.store.RemoveTree(a.ctx, name) })
		end(err)
		a.w.unexpected(a, "remove", err)
	case n < 75:
		from, to := a.step(), a.step()
		if from == to {
			return
		}
		end := a.w.touch(a, from, to)
		a.w.moves()
		err := a.timed("rename", func() error { return a.store.Rename(a.ctx, from, to) })
		end(err)
		a.w.unexpected(a, "rename", err)
	case n < 86:
		a.w.unexpected(a, "clean", a.timed("clean", func() error {
			_, err := a.store.CleanStaging(a.ctx, "run", nil)
			return err
		}))
	case n < 90:
		a.w.unexpected(a, "settle", a.timed("settle", func() error { return a.store.Settle(a.ctx, "run") }))
	default:
		a.lock()
	}
}

// run plays the history of a seed, and returns the violated laws.
func play(seed uint64, change func(object.Bucket) object.Bucket) []string {
	rng := rand.New(rand.NewPCG(seed, 99))
	w := &world{
		seed: seed, change: change, wins: map[string][]string{}, content: map[string]map[string]bool{},
		taken: map[string]int{}, opt: object.Options{Deadline: time.Minute, Lease: 4 * time.Minute, Grace: 6 * time.Hour, Part: 64, SkipProbe: true},
	}
	w.server = simulated.NewServer(time.Duration(rng.Int64N(int64(2*time.Hour)))-time.Hour,
		simulated.Lies{NoDelete: rng.IntN(4) == 0})
	var wait sync.WaitGroup
	for i := range 3 + rng.IntN(3) {
		left := -1
		if rng.IntN(3) == 0 {
			left = 1 + rng.IntN(120)
		}
		a := w.actor(i, fmt.Sprint("actor", i), left)
		if rng.IntN(3) == 0 {
			a.fatal = "/heads/"
		}
		wait.Go(func() {
			time.Sleep(time.Duration(a.rng.Int64N(int64(time.Second))))
			for range 3 + a.rng.IntN(6) {
				a.act()
				if a.dead() {
					return
				}
				time.Sleep(time.Duration(a.rng.Int64N(int64(a.w.opt.Lease))))
			}
		})
	}
	wait.Wait()
	w.over()
	return w.broken
}

// over waits until nothing is under way, cleans up, and checks what is left.
func (w *world) over() {
	time.Sleep(3 * time.Hour) // ghosts
	last := w.actor(1000, "last", -1)
	quiet := object.New(w.server.Bucket(nil), "p/", w.opt)
	if w.change != nil {
		quiet = object.New(w.change(w.server.Bucket(nil)), "p/", w.opt)
	}
	for range 3 {
		if _, err := quiet.CleanStaging(last.ctx, "run", nil); err != nil && errs.KindOf(err) != errs.NotFound {
			w.violated("the last cleaning: %v", err)
		}
		time.Sleep(w.opt.Grace + time.Minute)
	}
	held := map[string]string{}
	for i := range 3 {
		name := "run/" + strconv.Itoa(i)
		if _, err := quiet.Stat(last.ctx, name); err == nil {
			id, err := whole(last.ctx, quiet, name)
			if err != nil {
				w.violated("at the end %s is not whole: %v", name, err)
			}
			if !w.content[name][id] && !w.moved {
				w.violated("at the end %s is of %s, which was never saved there", name, id)
			}
			held[name] = id
		}
		if wins := w.wins[name]; len(wins) > 1+w.taken[name] {
			w.violated("%s was won by %q, and taken away %d times", name, wins, w.taken[name])
		}
		if id := w.survivor(name); id != "" && held[name] != id {
			w.violated("%s was acknowledged to %s and is of %q", name, id, held[name])
		}
	}
	w.orphans(held)
	if n := w.server.Uploads(); n > 0 {
		w.violated("%d uploads are left", n)
	}
}

var own = regexp.MustCompile(`^p/run/\.bivouac\.objects/(heads|data|live|gone|lock)(?:/([^/]*))?`)

// orphans looks for keys that belong to nothing.
func (w *world) orphans(held map[string]string) {
	keys := w.server.Keys()
	if os.Getenv("BIVOUAC_HISTORY") != "" {
		fmt.Println(strings.Join(keys, "\n"))
	}
	st := object.New(w.server.Bucket(nil), "p/", w.opt)
	used := map[string]bool{}
	for name := range maps.Keys(held) {
		for _, txn := range object.Sources(st, name) {
			used[path.Base(txn)] = true
		}
	}
	for _, key := range keys {
		m := own.FindStringSubmatch(key)
		switch {
		case m == nil:
			w.violated("the key %s is nobody's", key)
		case m[1] == "live", (m[1] == "data" || m[1] == "gone") && !used[m[2]]:
			w.violated("the key %s is left", key)
		}
	}
}

// histories plays histories until one violates a law, and returns its seed.
func histories(t *testing.T, from, n uint64, change func(object.Bucket) object.Bucket) (seed uint64, broken []string) {
	for seed = from; seed < from+n; seed++ {
		synctest.Test(t, func(*testing.T) { broken = play(seed, change) })
		if len(broken) > 0 {
			return seed, broken
		}
	}
	return 0, nil
}

// TestLongHistories plays 100,000 histories.
func TestLongHistories(t *testing.T) {
	if os.Getenv("BIVOUAC_LONG") == "" {
		t.Skip("set BIVOUAC_LONG=1, as make test-long does")
	}
	if seed, broken := histories(t, 1, 100_000, nil); len(broken) > 0 {
		t.Fatalf("history %d: %s", seed, strings.Join(slices.Compact(broken), "\n"))
	}
}

// TestHistories plays 2,000 histories, or 200 with -short. BIVOUAC_HISTORIES asks for another
// number, BIVOUAC_HISTORY for the one of a seed.
func TestHistories(t *testing.T) {
	from, n := uint64(1), uint64(2000)
	if text := os.Getenv("BIVOUAC_HISTORY"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		from, n = seed, 1
	} else if text := os.Getenv("BIVOUAC_HISTORIES"); text != "" {
		count, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		n = count
	} else if testing.Short() {
		n = 200
	}
	if seed, broken := histories(t, from, n, nil); len(broken) > 0 {
		t.Fatalf("history %d: %s", seed, strings.Join(slices.Compact(broken), "\n"))
	}
}
