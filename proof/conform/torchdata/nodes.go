package torchdata

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sort"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/nodes"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/state"
)

// tdNodes is a loader made of nodes.
type tdNodes struct {
	*nodes.Loader[any]
	begun, taken bool // an epoch was begun; an iter has taken it
}

func (l *tdNodes) start(ctx context.Context) error {
	if l.begun && !l.taken {
		l.taken = true
		return nil
	}
	l.begun, l.taken = true, true
	return l.Begin(context.WithoutCancel(ctx))
}

func (l *tdNodes) next(ctx context.Context) (any, error) { return l.Next(ctx) }
func (l *tdNodes) close() error                          { return l.Close() }

// state begins an epoch if no epoch has begun, as torchdata does.
func (l *tdNodes) state() ([]byte, error) {
	if !l.begun {
		l.begun = true
		if err := l.Begin(context.Background()); err != nil {
			return nil, err
		}
	}
	b, err := l.AppendState(nil)
	if err != nil {
		return nil, err
	}
	if b, err = state.CheckSeal(b); err != nil { // torchdata has no checksum
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return nil, err
	}
	delete(members, "ended") // nor this
	return json.Marshal(members)
}

func (l *tdNodes) load(b []byte) error {
	l.begun, l.taken = false, false
	return l.SetState(b)
}
func (p *tdPlay) buildNodes(node map[string]json.RawMessage) (tdPlayer, error) {
	root, err := p.node(node)
	if err != nil {
		return nil, err
	}
	o := nodes.LoaderOptions{}
	args := merged(p.Loader, nil)
	restart := true
	if _, err := take(args, "restart_on_stop_iteration", &restart); err != nil {
		return nil, err
	}
	o.NoRestart = !restart
	if len(args) > 0 {
		return nil, fmt.Errorf("unknown arguments %v", args)
	}
	return &tdNodes{Loader: nodes.NewLoader(root, o)}, nil
}

// retyped is a node under another type of values.
type retyped[S, T any] struct {
	nodes.Node[S]
	as func(S) T
}

func (r retyped[S, T]) Next(ctx context.Context) (v T, err error) {
	s, err := r.Node.Next(ctx)
	if err != nil {
		return v, err
	}
	return r.as(s), nil
}

func anyOf[S any](n nodes.Node[S]) nodes.Node[any] {
	return retyped[S, any]{n, func(v S) any { return v }}
}

// tdNode is the members of a node beside its sources.
type tdNode struct {
	Node         string                 `json:"node"`
	N            int64                  `json:"n"`
	Start        int64                  `json:"start"`
	Stateful     bool                   `json:"stateful"`
	Sampler      json.RawMessage        `json:"sampler"`
	InitialEpoch int64                  `json:"initial_epoch"`
	Fn           string                 `json:"fn"`
	NumWorkers   int                    `json:"num_workers"`
	InOrder      *bool                  `json:"in_order"`
	Prebatch     *int                   `json:"prebatch"`
	Concurrent   int                    `json:"max_concurrent"`
	Every        *int                   `json:"snapshot_frequency"`
	Method       string                 `json:"method"`
	Context      string                 `json:"multiprocessing_context"`
	BatchSize    int                    `json:"batch_size"`
	DropLast     bool                   `json:"drop_last"`
	Factor       int                    `json:"prefetch_factor"`
	Weights      map[string]json.Number `json:"weights"`
	Stop         *nodes.Stop            `json:"stop_criteria"`
	Seed         int64                  `json:"seed"`
	Rank         int64                  `json:"rank"`
	World        *int64                 `json:"world_size"`
}

// node makes a node of its description.
func (p *tdPlay) node(raw map[string]json.RawMessage) (nodes.Node[any], error) {
	raw = merged(raw, nil)
	var below map[string]json.RawMessage
	var sources map[string]map[string]json.RawMessage
	single, err := take(raw, "source", &below)
	if err != nil {
		return nil, err
	}
	if _, err := take(raw, "sources", &sources); err != nil {
		return nil, err
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return nil, err
	}
	var d tdNode
	if err := strictly(b, &d); err != nil {
		return nil, err
	}
	if single {
		source, err := p.node(below)
		if err != nil {
			return nil, err
		}
		return d.over(source)
	}
	if d.Node == "MultiNodeWeightedSampler" {
		return p.weighted(&d, sources)
	}
	return p.leaf(&d)
}

// leaf makes a node without source.
func (p *tdPlay) leaf(d *tdNode) (nodes.Node[any], error) {
	if d.Node == "IterableWrapper" {
		if d.Stateful {
			return nodes.FromIterable[any](&tdRange{n: d.N}), nil
		}
		var values []any
		for i := d.Start; i < d.N; i++ {
			values = append(values, i)
		}
		return nodes.FromSlice(values), nil
	}
	s, err := tdSamplerOf(d.Sampler, torchdata.Range(d.N), p.global)
	if err != nil {
		return nil, err
	}
	o := nodes.SamplerOptions{InitialEpoch: d.InitialEpoch}
	switch d.Node {
	case "SamplerWrapper":
		return anyOf(nodes.FromSampler[int64](s, o)), nil
	case "MapStyleWrapper":
		return nodes.FromMap(func(_ context.Context, id int64) (any, error) { return fmt.Sprint("v", id), nil }, s, o), nil
	}
	return nil, fmt.Errorf("unknown node %q", d.Node)
}

// over makes a node over a source.
func (d *tdNode) over(source nodes.Node[any]) (nodes.Node[any], error) {
	every := 1
	if d.Every != nil {
		every = *d.Every
	}
	switch d.Node {
	case "Mapper":
		return nodes.Map(source, tdFunctions[d.Fn]), nil
	case "ParallelMapper":
		o := nodes.ParallelOptions{Workers: d.NumWorkers, Prefetch: d.Concurrent, SnapshotEvery: every}
		if d.Prebatch != nil {
			if o.Prebatch = *d.Prebatch; o.Prebatch == 0 {
				return nil, &errs.Error{Kind: errs.Invalid, Subject: "prebatch", Want: "1 or more, or nothing", Got: "0"}
			}
		}
		return nodes.ParallelMap(source, tdFunctions[d.Fn], o)
	case "Prefetcher":
		return nodes.Prefetch(source, d.Factor, every)
	case "Batcher":
		n, err := nodes.Batch(source, d.BatchSize, order.DropLast(d.DropLast))
		if err != nil {
			return nil, err
		}
		return anyOf(n), nil
	case "Unbatcher":
		return nodes.Unbatch(nodes.Node[[]any](retyped[any, []any]{source, func(v any) []any { return v.([]any) }})), nil
	}
	return nil, fmt.Errorf("unknown node %q", d.Node)
}

// tdFunctions are the functions of mappers.
var tdFunctions = map[string]func(ctx context.Context, v any) (any, error){
	"double": func(_ context.Context, v any) (any, error) { return 2 * v.(int64), nil },
	"double_list": func(_ context.Context, v any) (any, error) {
		var out []any
		for _, x := range v.([]any) {
			out = append(out, 2*x.(int64))
		}
		return out, nil
	},
	"fail3": func(_ context.Context, v any) (any, error) {
		if v == int64(3) {
			return nil, &tdError{"Boom", "failing at 3"}
		}
		return v, nil
	},
}

// weighted makes a MultiNodeWeightedSampler.
func (p *tdPlay) weighted(d *tdNode, sources map[string]map[string]json.RawMessage) (nodes.Node[any], error) {
	refuse := func(subject, want string, got any) error {
		return &errs.Error{Kind: errs.Invalid, Subject: subject, Want: want, Got: fmt.Sprint(got)}
	}
	if len(d.Weights) != len(sources) {
		return nil, refuse("weights", "one for each source", d.Weights)
	}
	var all []nodes.Source[any]
	for name, raw := range sources {
		n, err := p.node(raw)
		if err != nil {
			return nil, err
		}
		text, ok := d.Weights[name]
		if !ok {
			return nil, refuse("weights", "one for "+name, d.Weights)
		}
		if _, err := text.Int64(); err == nil {
			return nil, refuse("weight of "+name, "a floating-point number", text) // which Go's types are
		}
		weight, err := text.Float64()
		if err != nil {
			return nil, err
		}
		all = append(all, nodes.Source[any]{Name: name, Node: n, Weight: weight})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	world := int64(1)
	if d.World != nil {
		world = *d.World
	}
	o := nodes.WeightedOptions{Stop: nodes.CycleUntilAll, Draws: torchdata.NewDraws(d.Seed, d.Rank, world)}
	if d.Stop != nil {
		o.Stop = *d.Stop
	}
	return nodes.Weighted(all, o)
}

// tdRange is a stateful iterable of 0 to n-1, whose generator clears it at the end.
type tdRange struct {
	placed
	n int64
}

func (r *tdRange) Open(context.Context) (loader.Iterator[any], error) {
	return &tdGenerator{next: func(context.Context) (any, error) {
		if int64(r.i) >= r.n {
			r.i = 0
			return nil, io.EOF
		}
		r.i++
		return int64(r.i - 1), nil
	}}, nil
}
