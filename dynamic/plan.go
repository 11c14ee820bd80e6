package dynamic

import (
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// plan is a graph of one operator that is ready to run. It fits calls with the same operator and
// constants, with inputs and argument inputs of the same dtypes, numbers of axes and layouts, and
// with batches up to a power of two.
type plan struct {
	hash     uint64
	operator *operator
	args     arguments // without values
	inputs   []tensor.Spec
	ports    int
	capacity int

	next         *plan // the next plan with the same hash
	newer, older *plan // in the order of use

	mu      sync.Mutex // one call at a time
	exec    *exec.Executor
	frame   *exec.Frame
	keyer   *rng.Forked
	repeats [][]tensor.Tensor // for inputs that are the same for all samples
	specs   []tensor.Spec     // of the outputs
	runs    int
	cost    atomic.Int64 // nanoseconds of a run, measured from time to time; 0: not known
}

// newPlan makes the plan for a call whose inputs are computed.
func newPlan(e *EvalContext, k *call) (*plan, error) {
	p := &plan{hash: k.hash(e), operator: k.operator, args: k.args.detached(), ports: k.ports,
		capacity: capacity(k.samples), keyer: &rng.Forked{}}
	for _, in := range k.inputs {
		p.inputs = append(p.inputs, in.describe())
	}
	g, err := p.graph(k)
	if err != nil {
		return nil, err
	}
	p.exec = exec.New(g, nil, exec.Config{
		BatchSize: p.capacity, Workers: e.threads, Pool: e.workers(),
		Keyers: slices.Repeat([]rng.Keyer{p.keyer}, len(g.Nodes)),
		Take:   true, Allocate: e.memory.alloc, Limits: e.limits,
	})
	p.frame, p.specs = p.exec.NewFrame(), p.exec.Specs()
	p.repeats = make([][]tensor.Tensor, len(p.inputs))
	return p, nil
}

// graph returns a graph with only this call. All its inputs and argument inputs are fed, in their
// order.
func (p *plan) graph(k *call) (*graph.Graph, error) {
	var b graph.Builder
	edges, err := addInputs(&b, p.inputs)
	if err != nil {
		return nil, err
	}
	n, err := addNode(&b, p.operator.schema.FullName(), p.operator, &k.args, p.ports, edges)
	if err != nil {
		return nil, err
	}
	return b.Graph(outputsOf(nil, n))
}

// addInputs appends inputs of a graph.
func addInputs(b *graph.Builder, specs []tensor.Spec) (edges []graph.Edge, err error) {
	for _, spec := range specs {
		n, err := b.Input("", 1, []tensor.Spec{spec})
		if err != nil {
			return nil, err
		}
		n.Specs[0] = spec // known, with or without a layout
		edges = append(edges, graph.Edge{Node: n})
	}
	return edges, nil
}

// addNode appends the node of a call. edges are its inputs, as many as ports, and then its argument
// inputs. Without a name, it has one of its own.
func addNode(
	b *graph.Builder, name string, o *operator, args *arguments, ports int, edges []graph.Edge,
) (*graph.Node, error) {
	set, names, err := args.build()
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		set[name] = op.Argument{From: edges[ports+i]}
	}
	n, err := b.AddSchema(o.schema, name, edges[:ports], set)
	if err != nil {
		return nil, err
	}
	if n.Seeded {
		return nil, &errs.Error{Kind: errs.Invalid, Op: o.schema.FullName(), Subject: "argument seed", Want: "no seed",
			Got: "a seed", Remedy: "pass a generator with this seed to the call"}
	}
	return n, nil
}

// outputsOf appends the outputs of a node.
func outputsOf(edges []graph.Edge, n *graph.Node) []graph.Edge {
	for i := range n.Specs {
		edges = append(edges, graph.Edge{Node: n, Output: i})
	}
	return edges
}

// run computes a call. Its outputs are new.
func (p *plan) run(k *call) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	f, n := p.frame, k.samples
	f.Begin(n)
	for s := range n {
		f.Positions[s], f.Slots[s] = int64(s), int32(s)
	}
	for i, in := range k.inputs {
		f.Feed(i, 0, repeated(&p.repeats[i], in, n, p.capacity))
	}
	if !k.batch && n == 1 {
		for i, r := range k.outs {
			f.Give(i, r.samples)
		}
	}
	p.keyer.Start = k.draw
	const often = 16
	if p.runs++; p.runs%often == 1 {
		defer func(start time.Time) { p.cost.Store(int64(time.Since(start))) }(time.Now())
	}
	p.exec.Start(f)
	err := p.exec.Wait(k.ctx, f)
	if err == nil {
		err = p.exec.Err(f)
	}
	if err == nil {
		for i, r := range k.outs {
			r.take(f, i, &p.specs[i], &k.e.memory)
		}
	}
	p.exec.Abandon(f)
	for _, list := range p.repeats {
		clear(list)
	}
	return err
}

// repeated returns the n samples of an input. They are the samples of a batch, or the same sample n
// times, in memory that is used again.
func repeated(into *[]tensor.Tensor, in *result, n, capacity int) []tensor.Tensor {
	list := in.list()
	if in.batch || n == 1 {
		return list
	}
	if *into == nil {
		*into = make([]tensor.Tensor, capacity)
	}
	for s := range n {
		(*into)[s] = list[0]
	}
	return (*into)[:n]
}

// capacity returns the batch size of the plan for a batch of n.
func capacity(n int) int { return 1 << bits.Len(uint(max(1, n)-1)) }

// hash returns a number that is equal for calls that fit the same plan. The inputs must be
// computed.
func (k *call) hash(e *EvalContext) uint64 {
	h := maphash.String(e.seed, k.operator.schema.Name) ^ k.args.hash(e.seed)
	for _, in := range k.inputs {
		d, ndim, layout := in.kind()
		h = h*0x9E3779B97F4A7C15 + uint64(d)<<8 + uint64(ndim)
		if layout != "" {
			h ^= maphash.String(e.seed, layout)
		}
	}
	return h*0x9E3779B97F4A7C15 + uint64(capacity(k.samples))<<8 + uint64(k.ports)
}

// fits reports whether the plan fits the call.
func (p *plan) fits(k *call) bool {
	if p.operator != k.operator || p.ports != k.ports || len(p.inputs) != len(k.inputs) ||
		p.capacity != capacity(k.samples) {
		return false
	}
	for i, in := range k.inputs {
		d, ndim, layout := in.kind()
		if s := &p.inputs[i]; s.DType != d || len(s.Shape) != ndim || s.Layout != layout {
			return false
		}
	}
	return p.args.equal(&k.args)
}

// plans holds the plans that were used last.
type plans struct {
	byHash         map[uint64]*plan
	newest, oldest *plan
	count          int
}

// mostPlans is the most plans of an EvalContext.
const mostPlans = 256

// find returns a plan that fits k, or nil.
func (l *plans) find(e *EvalContext, k *call) *plan {
	if p := k.operator.last; p != nil && p.fits(k) {
		l.use(p)
		return p
	}
	for p := l.byHash[k.hash(e)]; p != nil; p = p.next {
		if p.fits(k) {
			l.use(p)
			k.operator.last = p
			return p
		}
	}
	return nil
}

// use makes p the most recently used plan.
func (l *plans) use(p *plan) {
	if l.newest == p {
		return
	}
	l.unlink(p)
	l.push(p)
}

func (l *plans) push(p *plan) {
	if p.older = l.newest; p.older != nil {
		p.older.newer = p
	} else {
		l.oldest = p
	}
	l.newest = p
}

func (l *plans) unlink(p *plan) {
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		l.newest = p.older
	}
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		l.oldest = p.newer
	}
	p.newer, p.older = nil, nil
}

// add keeps a plan. If there are too many, it drops the least recently used plan.
func (l *plans) add(p *plan) {
	if l.byHash == nil {
		l.byHash = map[uint64]*plan{}
	}
	p.next = l.byHash[p.hash]
	l.byHash[p.hash] = p
	l.push(p)
	if l.count++; l.count > mostPlans {
		l.drop(l.oldest)
	}
}

// drop removes a plan. A goroutine that runs it continues.
func (l *plans) drop(p *plan) {
	p.operator.last = nil
	l.unlink(p)
	l.count--
	if first := l.byHash[p.hash]; first != p {
		for first.next != p {
			first = first.next
		}
		first.next = p.next
	} else if p.next == nil {
		delete(l.byHash, p.hash)
	} else {
		l.byHash[p.hash] = p.next
	}
}
