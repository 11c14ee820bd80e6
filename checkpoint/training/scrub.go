package training

import (
	"cmp"
	"context"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/scrub"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
	"github.com/bivouac-ml/bivouac/store"
)

// Scrub says how kept steps are read again in the background, so that damage is found
// while other steps, or parity, can still help. The zero value reads none.
//
// Files are read past the cache of the system, where it lets that be, and compared with the
// manifest of their step; the step that was read longest ago comes first, and a file that several
// steps share is read once. It waits while a save is written. A damaged file is told to OnEvent, as
// DamageFound, is not linked by later saves (Dedup), and is kept with the other results in the file
// .bivouac.scrub of the run, which bivouac ls shows and a later Open goes on from. Nothing is
// renamed: a process may be reading the step. It takes no other step's place in what the
// preservation policy keeps. The next Open tells what was found again; bivouac repair mends the
// step, or sets it aside.
type Scrub struct {
	// Every is the time after which a committed step, or one that was read, is read again; 0 is never.
	Every time.Duration
	// Rate is the largest number of bytes that are read in a second; 0 is 32 MiB.
	Rate int64
}

// scrubRate is the default of Scrub.Rate.
const scrubRate = 32 << 20

// ScrubResult is what the last scrub of a step found.
type ScrubResult struct {
	Step      int64
	Directory string    // of the step, relative to the run
	At        time.Time // when the read was complete
	Bytes     int64     // of all its files
	Damages   []ScrubDamage
}

// ScrubDamage is a file of a step that is not what it was.
type ScrubDamage struct {
	File string // below the step
	What string // what is wrong with it
}

// ScrubResults returns what the last scrub of each step found that is still what it was
// then, ascending by step: none where the run was never scrubbed, or nobody can tell.
// st is as Options.Store.
func ScrubResults(ctx context.Context, dir string, st store.Store) ([]ScrubResult, error) {
	st, root, err := locate.Directory(dir, st)
	if err != nil {
		return nil, errs.Wrap("training.ScrubResults", dir, err)
	}
	return results(scrub.Read(ctx, st, root)), nil
}

func results(list []scrub.Entry) []ScrubResult {
	out := make([]ScrubResult, 0, len(list))
	for _, e := range list {
		r := ScrubResult{Step: e.Step, Directory: e.Directory, At: e.At, Bytes: e.Bytes}
		for _, d := range e.Damages {
			r.Damages = append(r.Damages, ScrubDamage(d))
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b ScrubResult) int { return cmp.Compare(a.Step, b.Step) })
	return out
}

// scrubber rereads the steps of a Checkpointer to find damage.
type scrubber struct {
	c       *Checkpointer
	every   time.Duration
	rate    int64
	stop    context.CancelFunc
	over    chan struct{}
	changed chan struct{} // gets a value when a step was committed

	entries map[string]scrub.Entry // by directory; only for the goroutine
	read    map[string]reading     // by identity; only for the goroutine

	mu  sync.Mutex
	bad map[string]bool // identities of damaged files
}

// reading describes a file at the time when it was read.
type reading struct {
	at   time.Time
	size int64
	sum  uint32
	err  error
}

// startScrub starts a scrub in the background if Options.Scrub asks for one, and reports the damage
// that was found before.
func (c *Checkpointer) startScrub(ctx context.Context) {
	known := scrub.Read(ctx, c.store, c.root)
	for _, e := range known {
		if in, ok := c.own(e.Step); !ok || in.Directory != e.Directory {
			continue
		}
		c.unsound.note(e)
		for _, d := range e.Damages {
			c.opts.OnEvent(damageFound(e, d))
		}
	}
	if c.opts.Scrub.Every <= 0 || !c.writer {
		return
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	s := &scrubber{
		c: c, every: c.opts.Scrub.Every, rate: cmp.Or(c.opts.Scrub.Rate, scrubRate), stop: stop,
		over: make(chan struct{}), changed: make(chan struct{}, 1),
		entries: map[string]scrub.Entry{}, read: map[string]reading{}, bad: map[string]bool{},
	}
	for _, e := range known {
		s.entries[e.Directory] = e
	}
	c.scrub = s
	go s.run(ctx)
}

func damageFound(e scrub.Entry, d scrub.Damage) Event {
	return Event{Kind: DamageFound, Step: e.Step, Name: e.Directory, Bytes: e.Bytes, Err: &errs.Error{
		Kind: errs.Corrupt, Op: "training.Scrub", Subject: path.Join(e.Directory, d.File), Got: d.What,
		Remedy: "bivouac repair mends or sets aside the step; loads of it fail",
	}}
}

// unsound holds the steps in which a scrub has found damage: by directory, the hash of their
// manifest.
type unsound struct {
	mu    sync.Mutex
	steps map[string]manifest.Hash
}

// note records the result for a step.
func (u *unsound) note(e scrub.Entry) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(e.Damages) == 0 {
		delete(u.steps, e.Directory)
		return
	}
	if u.steps == nil {
		u.steps = map[string]manifest.Hash{}
	}
	u.steps[e.Directory] = e.Manifest
}

// sound returns the steps of a list in which no scrub has found damage, and their indices in the
// list. A step that was replaced since the scrub counts as sound.
func (c *Checkpointer) sound(ctx context.Context, list []Info) (sound []Info, at []int) {
	u := &c.unsound
	u.mu.Lock()
	known := maps.Clone(u.steps)
	u.mu.Unlock()
	if len(known) == 0 {
		return list, nil
	}
	for i, in := range list {
		if sum, bad := known[in.Directory]; bad {
			b, err := store.ReadAll(ctx, c.store, c.path(in.Directory, manifest.Name))
			if err == nil && manifest.HashOf(b) == sum {
				continue
			}
		}
		sound, at = append(sound, in), append(at, i)
	}
	return sound, at
}

// stopScrub stops the scrub and waits for it.
func (c *Checkpointer) stopScrub() {
	if c.scrub != nil {
		c.scrub.stop()
		<-c.scrub.over
	}
}

// noticeCommit makes the scrub look at the list of steps again.
func (c *Checkpointer) noticeCommit() {
	if c.scrub != nil {
		select {
		case c.scrub.changed <- struct{}{}:
		default:
		}
	}
}

// avoid reports whether a scrub has found the file damaged.
func (c *Checkpointer) avoid(ctx context.Context, name string) bool {
	s := c.scrub
	if s == nil {
		return false
	}
	s.mu.Lock()
	any := len(s.bad) > 0
	s.mu.Unlock()
	if !any {
		return false
	}
	id, err := store.Identity(ctx, c.store, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err == nil && id != "" && s.bad[id]
}

func (s *scrubber) run(ctx context.Context) {
	defer close(s.over)
	for ctx.Err() == nil {
		in, wait := s.next()
		if in == nil {
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-s.changed:
			case <-ctx.Done():
			}
			t.Stop()
			continue
		}
		s.step(ctx, *in)
	}
}

// next returns the step that was read longest ago, if it is due, or how long to wait for it.
func (s *scrubber) next() (in *Info, wait time.Duration) {
	wait = s.every
	now, oldest := s.c.opts.Now(), time.Time{}
	for _, i := range s.c.snapshot() {
		at := i.Time
		if e, ok := s.entries[i.Directory]; ok && e.Step == i.Step && !e.At.Before(i.Time.Truncate(time.Second)) {
			at = e.At
		}
		if at.After(now) {
			at = now // the clock was set back
		}
		if due := at.Add(s.every).Sub(now); due > 0 {
			wait = min(wait, due)
		} else if in == nil || at.Before(oldest) {
			in, oldest = &i, at
		}
	}
	for id, r := range s.read {
		if now.Sub(r.at) >= s.every {
			delete(s.read, id)
		}
	}
	return in, max(wait, time.Second)
}

// step reads a step and records the result.
func (s *scrubber) step(ctx context.Context, in Info) {
	dir := s.c.path(in.Directory)
	e := scrub.Entry{Step: in.Step, Directory: in.Directory}
	raw, err := store.ReadAll(ctx, s.c.store, path.Join(dir, manifest.Name))
	var m *manifest.Manifest
	if err == nil {
		e.Manifest = manifest.HashOf(raw)
		m, err = manifest.Parse(raw)
	}
	switch {
	case ctx.Err() != nil:
		return
	case errs.KindOf(err) == errs.Corrupt:
		e.Damages = append(e.Damages, scrub.Damage{File: manifest.Name, What: err.Error()})
	}
	if m != nil { // otherwise the step is damaged, not of Bivouac, being removed, or on a disk that cannot be read
		for _, f := range m.Files {
			what, err := s.file(ctx, path.Join(dir, f.Name), f)
			if err != nil {
				return // the context ended
			}
			e.Bytes += f.Size
			if what != nil {
				e.Damages = append(e.Damages, scrub.Damage{File: f.Name, What: what.Error()})
			}
		}
	}
	if len(e.Damages) > 0 {
		now, err := store.ReadAll(ctx, s.c.store, path.Join(dir, manifest.Name))
		if err != nil || manifest.HashOf(now) != e.Manifest {
			if errs.KindOf(err) != errs.NotFound && err == nil {
				return // it was replaced while it was read: it will be read again
			}
			e.Damages = nil // the step was removed
		}
	}
	e.At = s.c.opts.Now()
	before := s.entries[in.Directory]
	s.entries[in.Directory] = e
	s.c.unsound.note(e)
	s.keep(ctx)
	for _, d := range e.Damages {
		if before.Manifest != e.Manifest || !slices.ContainsFunc(before.Damages,
			func(o scrub.Damage) bool { return o.File == d.File }) {
			s.c.opts.OnEvent(damageFound(e, d))
		}
	}
}

// file reads a file, unless it was read for another step, and returns what is wrong with it. err
// means that the context ended.
func (s *scrubber) file(ctx context.Context, name string, f manifest.File) (what, err error) {
	id, _ := store.Identity(ctx, s.c.store, name)
	r, known := s.read[id]
	if !known || id == "" {
		r = reading{at: s.c.opts.Now()}
		r.err = s.scan(ctx, name, &r)
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if id != "" {
			s.read[id] = r
		}
	}
	switch {
	case r.err != nil:
		what = r.err
	case r.size != f.Size:
		what = &errs.Error{Kind: errs.Corrupt, Got: "a size that differs from the manifest"}
	case r.sum != f.CRC:
		what = manifest.ChecksumError("", f.CRC, r.sum)
	}
	if what != nil && id != "" {
		s.mu.Lock()
		s.bad[id] = true
		s.mu.Unlock()
	}
	return what, nil
}

// scan reads a file at the rate of the scrub.
func (s *scrubber) scan(ctx context.Context, name string, r *reading) error {
	return store.Scan(ctx, s.c.store, name, func(b []byte) error {
		r.sum, r.size = crc.Update(r.sum, b), r.size+int64(len(b))
		if err := s.idle(ctx); err != nil {
			return err
		}
		t := time.NewTimer(time.Duration(float64(len(b)) / float64(s.rate) * float64(time.Second)))
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	})
}

// idle waits until no save is being written.
func (s *scrubber) idle(ctx context.Context) error {
	for s.c.IsSavingInProgress() {
		s.c.mu.Lock()
		r := s.c.pending
		s.c.mu.Unlock()
		select {
		case <-r.Done():
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// keep writes the results of the existing steps. If that fails, the next process reads the steps
// again: nothing depends on the file.
func (s *scrubber) keep(ctx context.Context) {
	there := map[string]bool{}
	for _, in := range s.c.snapshot() {
		there[in.Directory] = true
	}
	var list []scrub.Entry
	for dir, e := range s.entries {
		if !there[dir] {
			delete(s.entries, dir)
			continue
		}
		list = append(list, e)
	}
	slices.SortFunc(list, func(a, b scrub.Entry) int { return cmp.Compare(a.Step, b.Step) })
	scrub.Write(ctx, s.c.store, s.c.root, list) //nolint:errcheck // see above
}
