package bivouac

import (
	"context"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/stream"
)

// operators writes what the operators of the data do, beside the journal and as often. It has a
// goroutine of its own: a trainer that waits for a batch is when people want to know. The methods
// do nothing for nil.
type operators struct {
	profile func() stream.Profile
	tell    func(error)
	st      store.Store
	dir     string

	mu   sync.Mutex
	last journal.Operators // without the profile
	over bool              // the data may be closed: profile is not called any more

	began   bool
	quit    context.CancelFunc
	done    sync.WaitGroup
	failing bool // tell knows; owned by the goroutine, and after its end by close
}

// operatorsEvery is the time between two writes. A bucket sees 6 small objects a minute.
const operatorsEvery = 10 * time.Second

// firstOperators is when the first one is written: the first batches are there.
const firstOperators = time.Second

// profileOf returns what tells of the operators of the data, or nil.
func profileOf(data any) func() stream.Profile {
	if p, ok := data.(stream.Profiled); ok {
		return p.Profile
	}
	return nil
}

// newOperators returns what writes the document of the run in dir. first has what is known at once.
func newOperators(st store.Store, dir string, first journal.Operators, profile func() stream.Profile,
	tell func(error)) *operators {
	return &operators{profile: profile, tell: tell, st: st, dir: dir, last: first}
}

// begin begins to write. The loop may begin again.
func (o *operators) begin() {
	if o == nil || o.began {
		return
	}
	o.began = true
	ctx, cancel := context.WithCancel(context.Background())
	o.quit = cancel
	o.done.Go(func() {
		for pause := firstOperators; ; pause = operatorsEvery {
			rest := time.NewTimer(pause)
			select {
			case <-rest.C:
				o.put(ctx, false)
			case <-ctx.Done():
				rest.Stop()
				return
			}
		}
	})
}

// stepDone notes that a step is done.
func (o *operators) stepDone(step int64) {
	if o == nil {
		return
	}
	o.mu.Lock()
	o.last.Step = step
	o.mu.Unlock()
}

// now returns what the operators have done up to now. ok is false when the data may be closed.
func (o *operators) now(ended bool) (out journal.Operators, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return out, false
	}
	o.over = ended
	out = o.last
	out.Time, out.Ended, out.Profile = time.Now().UTC().Round(0), ended, o.profile()
	return out, true
}

// put writes the document. Only the first failure after each success is told: the next write tries
// again.
func (o *operators) put(ctx context.Context, ended bool) {
	out, ok := o.now(ended)
	if !ok {
		return
	}
	err := journal.PutOperators(ctx, o.st, o.dir, out)
	if ctx.Err() != nil && !ended {
		return // Close writes the last word
	}
	if err != nil && !o.failing {
		o.tell(err)
	}
	o.failing = err != nil
}

// close writes the last word, until ctx ends. After it the data may be closed.
func (o *operators) close(ctx context.Context) {
	if o == nil || !o.began {
		return
	}
	o.quit()
	o.done.Wait()
	o.put(ctx, true)
}
