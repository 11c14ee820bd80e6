package serve

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/errs"
)

// dynamics is the dynamic mode of a connection. The client gives numbers to values, operators and
// contexts. It sends calls in groups, which have numbers too: the groups are made in their order,
// and a group that comes a second time is made once.
type dynamics struct {
	ctx context.Context // of the connection

	mu        sync.Mutex
	grown     sync.Cond // more groups were made, or the connection has ended
	made      int64     // groups
	making    bool      // a group is being made
	contexts  map[contextKey]*dynamic.EvalContext
	values    map[int64]dynamicValue
	operators map[int64]*dynamicOperator
	sites     []string
	readers   map[int64]*dynamicReader
	last      int64 // number of a reader
	tracing   tracing

	handing sync.Mutex // of slots
	slots   slots
}

// dynamicValue is a value, or the error in its place.
type dynamicValue struct {
	value dynamic.Value
	err   error
}

// newDynamics returns the dynamic mode of a connection whose calls end with ctx.
func newDynamics(ctx context.Context) *dynamics {
	d := &dynamics{ctx: ctx, contexts: map[contextKey]*dynamic.EvalContext{}, values: map[int64]dynamicValue{},
		operators: map[int64]*dynamicOperator{}, readers: map[int64]*dynamicReader{},
		slots: slots{most: mostHeldValues, op: "serve.dynamic.run", what: "values", remedy: heldValues}}
	d.grown.L = &d.mu
	return d
}

// mostHeldValues is how many slots with elements of values a client may hold.
const mostHeldValues = 1 << 10

const heldValues = "let go of arrays of values, or copy what is needed longer"

// close ends everything. No call is in flight.
func (d *dynamics) close() error {
	d.mu.Lock()
	readers, contexts := slices.Collect(maps.Values(d.readers)), slices.Collect(maps.Values(d.contexts))
	d.readers, d.values, d.contexts = nil, nil, nil
	d.mu.Unlock()
	var failed error
	for _, r := range readers {
		if err := r.end(); failed == nil {
			failed = err
		}
	}
	for _, e := range contexts {
		e.Close()
	}
	d.slots.close()
	return failed
}

// enter waits for the turn of a group. again says that the group was made before.
func (d *dynamics) enter(group int64) (again bool, err error) {
	return d.turn(func() bool { return d.made+1 >= group }, func() bool { return group <= d.made })
}

// await waits until a group was made, and takes a turn between two groups, which leaveTurn ends.
func (d *dynamics) await(group int64) error {
	_, err := d.turn(func() bool { return d.made >= group }, func() bool { return false })
	return err
}

// turn waits until nobody has the turn and ready is true, and takes it unless pass is true. Both
// functions are called with the lock.
func (d *dynamics) turn(ready, pass func() bool) (passed bool, err error) {
	stop := context.AfterFunc(d.ctx, func() {
		d.mu.Lock()
		d.grown.Broadcast()
		d.mu.Unlock()
	})
	defer stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.making || !ready() {
		if d.ctx.Err() != nil {
			return false, closed()
		}
		d.grown.Wait()
	}
	if pass() {
		return true, nil
	}
	d.making = true
	return false, nil
}

// leaveTurn ends the turn of await.
func (d *dynamics) leaveTurn() {
	d.mu.Lock()
	d.making = false
	d.grown.Broadcast()
	d.mu.Unlock()
}

// leave ends the turn of a group.
func (d *dynamics) leave() {
	d.mu.Lock()
	d.made++
	d.making = false
	d.grown.Broadcast()
	d.mu.Unlock()
}

// group is what a client sends at once.
type group struct {
	number    int64
	mode      string
	context   int64
	threads   int
	operators []byte
	sites     []string
	calls     []byte
	freed     []int64 // values
	slots     []int64 // that the client does not hold any more
	closed    []int64 // contexts
	forget    int64   // operators below this number are not called any more
	fetch     int64   // a value that the client wants, or 0
	describe  bool    // without its elements
	all       bool    // wait for all calls of the context
}

func readGroup(a *args) (g group, err error) {
	g.number, g.mode, g.context = a.id("group"), a.text("mode"), a.id("context")
	a.into("threads", &g.threads)
	g.operators, g.calls = a.raw("operators"), a.raw("calls")
	a.into("sites", &g.sites)
	a.into("freed", &g.freed)
	a.into("slots", &g.slots)
	a.into("closed", &g.closed)
	g.forget = a.id("forget")
	g.fetch, g.describe, g.all = a.id("fetch"), a.flag("describe"), a.flag("all")
	if err := a.finish(); err != nil {
		return g, err
	}
	switch {
	case g.number < 1:
		return g, wrongArgument("group", "1 or more", strconv.FormatInt(g.number, 10))
	case g.threads < 0 || g.threads > mostThreads:
		return g, wrongArgument("threads", "0 to "+strconv.Itoa(mostThreads), strconv.Itoa(g.threads))
	}
	return g, nil
}

// mostThreads bounds the goroutines that compute calls of a context.
const mostThreads = 1 << 12

// dynamicRun makes the calls of a group, and answers with a value if the client wants one.
func dynamicRun(k *call) (reply, error) {
	g, err := readGroup(k.args)
	if err != nil {
		return reply{}, err
	}
	d := k.dynamics
	again, err := d.enter(g.number)
	if err != nil {
		return reply{}, err
	}
	var e *dynamic.EvalContext
	if !again {
		e, err = d.make(&g)
		d.leave()
	} else {
		e = d.contextOf(&g)
	}
	if err != nil {
		return reply{}, err
	}
	if g.all {
		d.tracing.wantAll()
		if err := e.EvaluateAll(k.ctx); err != nil {
			return reply{}, err
		}
	}
	if g.fetch == 0 {
		return reply{json: []byte("{}")}, nil
	}
	return d.fetch(k.ctx, g.fetch, g.describe)
}

// make makes the calls of a group.
func (d *dynamics) make(g *group) (*dynamic.EvalContext, error) {
	mode, err := dynamic.ParseMode(g.mode)
	if err != nil {
		return nil, err
	}
	e := d.contextOf(g)
	d.sites = append(d.sites, g.sites...)
	if err := d.addOperators(g.operators); err != nil {
		return nil, err
	}
	ctx := dynamic.WithMode(dynamic.With(d.ctx, e), mode)
	if err := d.makeCalls(ctx, g.calls); err != nil {
		return nil, err
	}
	d.release(g.freed)
	maps.DeleteFunc(d.operators, func(number int64, _ *dynamicOperator) bool { return number < g.forget })
	d.closeContexts(g.closed)
	d.handing.Lock()
	defer d.handing.Unlock()
	return e, d.slots.free(g.slots)
}

// contextOf returns the context of a group. It is made at its first use.
func (d *dynamics) contextOf(g *group) *dynamic.EvalContext {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := contextKey{g.context, g.threads}
	e := d.contexts[key]
	if e == nil {
		e = dynamic.NewEvalContext(dynamic.Options{Workers: g.threads})
		d.contexts[key] = e
	}
	return e
}

// contextKey is a context of the client. One whose number of threads changes is another one here.
type contextKey struct {
	number  int64
	threads int
}

// closeContexts ends contexts that the client has no more. It waits for their calls, so that values
// of theirs stay.
func (d *dynamics) closeContexts(numbers []int64) {
	var ended []*dynamic.EvalContext
	d.mu.Lock()
	for key, e := range d.contexts {
		if slices.Contains(numbers, key.number) {
			ended = append(ended, e)
			delete(d.contexts, key)
		}
	}
	d.mu.Unlock()
	for _, e := range ended {
		e.EvaluateAll(d.ctx) //nolint:errcheck // the values have the errors
		e.Close()
	}
}

// put gives a value a number.
func (d *dynamics) put(number int64, v dynamicValue) {
	d.mu.Lock()
	d.values[number] = v
	d.mu.Unlock()
}

// find returns a value.
func (d *dynamics) find(number int64) dynamicValue {
	d.mu.Lock()
	v, ok := d.values[number]
	d.mu.Unlock()
	if !ok {
		return dynamicValue{err: &errs.Error{Kind: errs.NotFound, Subject: "value " + strconv.FormatInt(number, 10),
			Want: "a value of this connection that was not freed"}}
	}
	return v
}

// release drops values. Memory of computed ones is for the next calls.
func (d *dynamics) release(numbers []int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range numbers {
		if v := d.values[n].value; v != nil {
			v.Release()
		}
		delete(d.values, n)
	}
}
