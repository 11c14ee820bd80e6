package training

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/locate"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/checkpoint/transfer"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// Tier is a further directory for the steps of a run, such as a bucket behind a local disk. Steps
// are committed in the directory of the run, the nearest tier. Then they are copied to the further
// tiers in the background.
//
// A copy has the bytes of the step. It is compared with the checksums of the manifest while it is
// read, and read back before it gets its name. So a step of a tier is whole.
type Tier struct {
	// Directory is a path or a URL, or a name in Store if Store is not nil.
	Directory string
	// Store holds the directory; nil is the local file system, or the store of a URL.
	Store store.Store
	// Name is how events and errors call the tier; "" is Directory.
	Name string
	// Save decides which committed steps are copied; nil is every step. It gets the steps of this
	// tier, and those that wait to be copied, as Decision.Previous. After a preemption notice the
	// newest step is copied, whatever Save says.
	Save SavePolicy
	// Preserve decides which steps stay in this tier; nil is PreserveAll.
	Preserve PreservationPolicy
	// Hold is how many of the newest steps that wait for this tier stay in the nearest tier although
	// its preservation policy gives them up; 0 is 1. The step that is being copied stays in any case.
	// Other steps are not waited for: they are removed, and the event GivenUp is sent.
	Hold int
	// NoReadBack trusts the tier with the bytes that it acknowledged. An object store compares
	// checksums itself; without NoReadBack each byte that is sent is also received.
	NoReadBack bool
}

// Uploads bounds the copies to all further tiers together.
type Uploads struct {
	// Rate is the largest number of bytes in a second, sent or read back; 0 is no bound.
	Rate int64
	// Memory is the largest number of bytes in flight; 0 is 64 MiB. An object store may keep a second
	// copy of small files and of parts that are not full.
	Memory int64
	// Patience is how long Close waits for steps that a tier still wants; 0 is 10 minutes. Negative
	// values do not wait.
	Patience time.Duration
}

// TierStatus says what a tier has.
type TierStatus struct {
	Tier string
	// Known says that the tier was reached. Otherwise Steps is empty.
	Known bool
	// Steps are whole in the tier, ascending.
	Steps []int64
	// Waiting are the steps that will be copied to the tier, in this order. The first may be in
	// progress.
	Waiting []int64
	// Err is why the last copy failed; nil after a success.
	Err error
}

func (t Tier) withDefaults() Tier {
	if t.Save == nil {
		t.Save = FixedInterval{Steps: 1} // a tier is for every step, unless its policy says otherwise
	}
	if t.Preserve == nil {
		t.Preserve = PreserveAll{} // a policy must ask for deletions
	}
	t.Hold = cmp.Or(t.Hold, 1) // the newest step is worth a place on the disk until it is safe
	t.Name = cmp.Or(t.Name, t.Directory)
	return t
}

// validate returns an error for the first field that makes no sense.
func (t Tier) validate(i int) error {
	field := "Options.Tiers[" + strconv.Itoa(i) + "]"
	switch {
	case t.Directory == "" && t.Store == nil:
		return &errs.Error{Kind: errs.Invalid, Subject: field + ".Directory", Want: "a path or a URL", Got: "nothing"}
	case t.Hold < 0:
		return &errs.Error{Kind: errs.Invalid, Subject: field + ".Hold", Want: "at least 0 steps",
			Got: strconv.Itoa(t.Hold)}
	}
	for _, part := range []interface{ Validate() error }{t.Save, t.Preserve} {
		if part != nil {
			if err := part.Validate(); err != nil {
				return errs.Wrap("", field, err)
			}
		}
	}
	return nil
}

func (u Uploads) validate() error {
	if u.Rate < 0 || u.Memory < 0 {
		return &errs.Error{Kind: errs.Invalid, Subject: "Options.Uploads",
			Want: "at least 0 bytes a second, and at least 0 bytes of memory"}
	}
	return nil
}

// defaultPatience is long enough for the last step of a large job, and short enough to see that a
// tier does not answer.
const defaultPatience = 10 * time.Minute

// tier is a further tier of a Checkpointer.
type tier struct {
	Tier
	far *Checkpointer // of its directory: list, lock and retention

	turn    sync.Mutex      // held by the call that takes the lock; locked before uploads.mu
	carried map[string]bool // metadata of the run that the tier has; guarded by turn

	// All below is guarded by uploads.mu.
	known   bool               // far.list was read
	why     error              // why it was not
	waiting map[int64]want     // steps to copy
	replace map[int64]bool     // steps of which the tier has a copy that is not whole
	busy    int64              // the step that is being copied, or -1
	sent    float64            // how much of it, from 0 to 1
	abandon context.CancelFunc // ends the copy in progress
	ended   chan struct{}      // closed when it has ended
	err     error              // of the last copy
	untidy  bool               // the policy of the tier gives steps up that it has
	lost    []error
}

// want is a step that a tier wants.
type want struct {
	Info
	overwrite bool // the tier may have an older version of the step
}

// uploads is the state of the further tiers.
type uploads struct {
	tiers  []*tier
	budget *transfer.Budget
	// watcher is the Observer of the context of Open, or nil. It is told of copies.
	watcher telemetry.Observer

	mu       sync.Mutex
	running  bool
	draining bool
	offered  bool // this process is the writer, and has looked for steps of earlier processes
	owed     bool // retention spared a step for an upload
	stop     context.CancelFunc
	over     sync.WaitGroup
	wake     []chan struct{} // one for each tier
}

// newTiers makes the further tiers. It touches no storage.
func (c *Checkpointer) newTiers(mode fs.FileMode) error {
	u := &c.uploads
	u.budget = transfer.NewBudget(c.opts.Uploads.Rate, c.opts.Uploads.Memory)
	taken := []*Checkpointer{c}
	for i, t := range c.opts.Tiers {
		st, root, err := locate.Directory(t.Directory, t.Store)
		if p, ok := st.(store.Permitter); ok && mode != 0 {
			st = p.WithPermissions(mode)
		}
		if err != nil {
			return errs.Wrap("", "Options.Tiers["+strconv.Itoa(i)+"]", err)
		}
		o := c.opts
		o.Store, o.Tiers, o.Preserve, o.Clean, o.LookFirst = t.Store, nil, t.Preserve, false, false
		o.Deletion = options.Deletion{} // the trash is a directory of the nearest tier
		o.OnEvent = func(e Event) {
			e.Tier = t.Name
			c.opts.OnEvent(e)
		}
		far := &Checkpointer{opts: o, store: st, root: root, dir: t.Directory, limit: c.limit, writer: c.writer,
			trust: c.trust, signing: c.signing}
		for _, other := range taken {
			if sameDirectory(far, other) {
				return &errs.Error{Kind: errs.Invalid, Subject: "Options.Tiers[" + strconv.Itoa(i) + "].Directory",
					Want: "a directory of its own", Got: "the directory of the run or of another tier"}
			}
		}
		taken = append(taken, far)
		u.tiers = append(u.tiers, &tier{Tier: t, far: far, waiting: map[int64]want{}, replace: map[int64]bool{},
			carried: map[string]bool{}, busy: -1})
		u.wake = append(u.wake, make(chan struct{}, 1))
	}
	return nil
}

// sameDirectory reports whether two Checkpointers have the same directory. Stores of the caller may
// have the same name and be different.
func sameDirectory(a, b *Checkpointer) bool {
	if a.root != b.root {
		return false
	}
	if a.opts.Store == nil && b.opts.Store == nil {
		return a.store.Properties().Name == b.store.Properties().Name
	}
	if a.opts.Store == nil || b.opts.Store == nil || !reflect.TypeOf(a.opts.Store).Comparable() {
		return false
	}
	return a.opts.Store == b.opts.Store
}

// Tiers says which tier has which step: first the directory of the run, then the further tiers in
// the order of Options.Tiers.
func (c *Checkpointer) Tiers() []TierStatus {
	near := c.snapshot()
	out := []TierStatus{{Tier: c.dir, Known: true, Steps: stepsIn(near)}}
	c.uploads.mu.Lock()
	defer c.uploads.mu.Unlock()
	for _, t := range c.uploads.tiers {
		out = append(out, TierStatus{Tier: t.Name, Known: t.known, Steps: stepsIn(t.far.snapshot()), Waiting: t.order(),
			Err: errors.Join(t.why, t.err)})
	}
	return out
}

func stepsIn(list []Info) []int64 {
	out := make([]int64, len(list))
	for i, in := range list {
		out[i] = in.Step
	}
	return out
}

// order returns the steps that wait, the one in progress first and then the newest first.
// uploads.mu is held.
func (t *tier) order() []int64 {
	var out []int64
	for step := range t.waiting {
		out = append(out, step)
	}
	slices.SortFunc(out, func(a, b int64) int {
		if a == t.busy || b == t.busy {
			return cmp.Compare(b2i(b == t.busy), b2i(a == t.busy))
		}
		return cmp.Compare(b, a)
	})
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// all returns the steps of all tiers, ascending. The description of a step is the one of the
// nearest tier that has it.
func (c *Checkpointer) all() []Info {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.allLocked()
}

// allLocked implements all. c.mu is held. The list must not be changed.
func (c *Checkpointer) allLocked() []Info {
	list := slices.Clip(c.list)
	for _, t := range c.uploads.tiers {
		list = merged(list, t.far.snapshot())
	}
	return list
}

// merged adds to an ascending list the steps of another one that it does not have.
func merged(list, more []Info) []Info {
	if len(more) == 0 {
		return list
	}
	out := make([]Info, 0, len(list)+len(more))
	for len(list) > 0 && len(more) > 0 {
		switch a, b := list[0], more[0]; {
		case a.Step == b.Step:
			out, list, more = append(out, a), list[1:], more[1:]
		case a.Step < b.Step:
			out, list = append(out, a), list[1:]
		default:
			out, more = append(out, b), more[1:]
		}
	}
	return append(append(out, list...), more...)
}
