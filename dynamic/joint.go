package dynamic

import (
	"errors"
	"slices"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/pipeline/exec"
	"github.com/bivouac-ml/bivouac/pipeline/graph"
	"github.com/bivouac-ml/bivouac/rng"
	"github.com/bivouac-ml/bivouac/tensor"
)

// joint is a graph of several calls that is ready to run. It fits calls with the same operators and
// constants that take their inputs from each other in the same way.
type joint struct {
	members  []member // without calls and values
	wanted   []int
	inputs   []tensor.Spec
	capacity int
	outputs  []int // of members: the number of their first output in the graph's outputs, or -1

	mu     sync.Mutex // of the executor's Start and Abandon, and of what follows
	exec   *exec.Executor
	specs  []tensor.Spec // of the graph's outputs
	frames [mostFrames]*exec.Frame
	free   []int // frames that are not under way
	broken bool  // such calls make no graph

	// What a frame under way uses: the generators of the members, and samples of inputs that are the
	// same for all samples.
	starts  [mostFrames][]rng.Philox
	repeats [mostFrames][][]tensor.Tensor
}

const (
	mostFrames = 4 // of a graph at a time; further calls are computed on their own
	mostJoints = 16
)

// jointRun is a frame under way. The context does not close meanwhile.
type jointRun struct {
	joint *joint
	frame int
}

// begin starts the graph of t, whose inputs are computed.
func (e *EvalContext) begin(t *together) (*jointRun, error) {
	e.mu.Lock()
	err := e.enter()
	var p *joint
	if err == nil {
		p = e.findJoint(t)
	}
	e.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if p == nil {
		p = newJoint(e, t)
		e.mu.Lock()
		e.joints = slices.Insert(e.joints, 0, p)
		e.joints = e.joints[:min(len(e.joints), mostJoints)]
		e.mu.Unlock()
	}
	i, ok := p.start(t)
	if !ok {
		e.leavePlan()
		return nil, &errs.Error{Kind: errs.Unsupported, Op: "dynamic.Together"} // nobody sees it
	}
	return &jointRun{p, i}, nil
}

// findJoint returns the graph that fits t, or nil. The caller holds the lock.
func (e *EvalContext) findJoint(t *together) *joint {
	i := slices.IndexFunc(e.joints, func(p *joint) bool { return p.fits(t) })
	if i < 0 {
		return nil
	}
	p := e.joints[i]
	copy(e.joints[1:i+1], e.joints[:i])
	e.joints[0] = p
	return p
}

// fits reports whether the graph is the graph of t.
func (p *joint) fits(t *together) bool {
	if p.capacity != capacity(t.samples) || !slices.Equal(p.wanted, t.wanted) || len(p.inputs) != len(t.inputs) ||
		len(p.members) != len(t.members) {
		return false
	}
	for i := range p.members {
		a, b := &p.members[i], &t.members[i]
		if a.operator != b.operator || a.ports != b.ports || !slices.Equal(a.from, b.from) || !a.args.equal(&b.args) {
			return false
		}
	}
	for i, in := range t.inputs {
		d, ndim, layout := in.kind()
		if s := &p.inputs[i]; s.DType != d || len(s.Shape) != ndim || s.Layout != layout {
			return false
		}
	}
	return true
}

// newJoint makes the graph of t. If the calls make no graph, it is broken.
func newJoint(e *EvalContext, t *together) *joint {
	p := &joint{wanted: t.wanted, capacity: capacity(t.samples)}
	for _, in := range t.inputs {
		p.inputs = append(p.inputs, in.describe())
	}
	g, numbers, err := p.graph(t)
	for _, m := range t.members {
		p.members = append(p.members, member{operator: m.operator, args: m.args.detached(), ports: m.ports, from: m.from})
	}
	if err != nil {
		p.broken = true
		return p
	}
	keyers := make([]rng.Keyer, len(g.Nodes))
	for i, n := range g.Nodes {
		keyers[i] = rng.Forked{}
		if number, ok := numbers[n.Name]; ok {
			keyers[i] = jointKeyer{p, number}
		}
	}
	p.exec = exec.New(g, nil, exec.Config{
		BatchSize: p.capacity, Workers: e.threads, Pool: e.workers(), Keyers: keyers,
		Take: true, Allocate: e.memory.alloc, Limits: e.limits, InFlight: 2,
	})
	p.specs = p.exec.Specs()
	for i := range mostFrames {
		p.free = append(p.free, i)
		p.starts[i] = make([]rng.Philox, len(p.members))
		p.repeats[i] = make([][]tensor.Tensor, len(p.inputs))
	}
	return p
}

// graph returns the graph of the calls, and the numbers of the members by the names of their nodes.
func (p *joint) graph(t *together) (*graph.Graph, map[string]int, error) {
	var b graph.Builder
	inputs, err := addInputs(&b, p.inputs)
	if err != nil {
		return nil, nil, err
	}
	nodes, numbers := make([]*graph.Node, len(t.members)), map[string]int{}
	for i := range t.members {
		m := &t.members[i]
		edges := make([]graph.Edge, len(m.from))
		for k, from := range m.from {
			if from.member < 0 {
				edges[k] = inputs[from.number]
			} else {
				edges[k] = graph.Edge{Node: nodes[from.member], Output: from.number}
			}
		}
		n, err := addNode(&b, "", m.operator, &m.args, m.ports, edges)
		switch {
		case err != nil:
			return nil, nil, err
		case len(n.Specs) != len(m.call.outs):
			return nil, nil, &errs.Error{Kind: errs.Unsupported, Op: n.Schema.FullName()}
		}
		nodes[i], numbers[n.Name] = n, i
	}
	var outputs []graph.Edge
	p.outputs = slices.Repeat([]int{-1}, len(t.members))
	for _, i := range t.wanted {
		p.outputs[i] = len(outputs)
		outputs = outputsOf(outputs, nodes[i])
	}
	g, err := b.Graph(outputs)
	return g, numbers, err
}

// start starts a frame, and returns its number. It reports false if no frame is free, or if the
// calls make no graph.
func (p *joint) start(t *together) (number int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.broken || len(p.free) == 0 {
		return 0, false
	}
	number = p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	if p.frames[number] == nil {
		p.frames[number] = p.exec.NewFrame()
	}
	f := p.frames[number]
	f.Begin(t.samples)
	for s := range t.samples {
		f.Positions[s], f.Slots[s] = int64(number), int32(s)
	}
	for i := range t.members {
		p.starts[number][i] = t.members[i].draw
	}
	for i, in := range t.inputs {
		f.Feed(i, 0, repeated(&p.repeats[number][i], in, t.samples, p.capacity))
	}
	p.exec.Start(f)
	return number, true
}

// finish waits for the frame, and ends the claimed calls with its values. If the frame has failed,
// it leaves the calls claimed and reports false.
func (r *jointRun) finish(t *together, claimed []int) bool {
	p, f := r.joint, r.joint.frames[r.frame]
	defer t.e.leavePlan()
	err := p.wait(t.members[claimed[0]].call, f)
	if err == nil {
		err = p.exec.Err(f)
	}
	if err == nil {
		for _, i := range claimed {
			for k, out := range t.members[i].call.outs {
				out.take(f, p.outputs[i]+k, &p.specs[p.outputs[i]+k], &t.e.memory)
			}
		}
	}
	p.mu.Lock()
	p.exec.Abandon(f)
	for _, list := range p.repeats[r.frame] {
		clear(list)
	}
	p.free = append(p.free, r.frame)
	p.broken = p.broken || errors.As(err, new(*op.Redescribed))
	p.mu.Unlock()
	if err != nil {
		return false
	}
	for _, i := range claimed {
		t.members[i].call.finish()
	}
	return true
}

// wait waits for a frame. A short one is computed here, one at a time.
func (p *joint) wait(k *call, f *exec.Frame) error {
	if f.Inline() {
		p.mu.Lock()
		defer p.mu.Unlock()
	}
	return p.exec.Wait(k.ctx, f)
}

// jointKeyer is the rng.Keyer of a member. The position is the number of the frame.
type jointKeyer struct {
	p      *joint
	member int
}

// Stream implements rng.Keyer.
func (k jointKeyer) Stream(frame int64, slot int, node uint64, call uint32) rng.Philox {
	return rng.Forked{Start: k.p.starts[frame][k.member]}.Stream(frame, slot, node, call)
}
