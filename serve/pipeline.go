package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/pipeproto"
	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// engine makes the batches of a client.
type engine interface {
	Begin(ctx context.Context, wait bool) (bool, error)
	// next returns the i-th batch in flight, the oldest one with i = 0.
	next(ctx context.Context, i int) (*slotBatch, error)
	// ready reports whether next brings the i-th batch without waiting.
	ready(i int) bool
	// taken says that the oldest batch is the program's, and no longer in flight.
	taken(ctx context.Context) error
	InFlight() int
	Reset() error
	AppendStateWith(dst, consumer []byte) ([]byte, error)
	SetState(state []byte) error
	Consumer() []byte
	Close() error
	FeedInputs(name string, data []pipeline.Data, o *pipeline.FeedOptions) error
	ExecutorStatistics() map[string]pipeline.OperatorStatistics
}

// graphEngine is the engine of a graph.
type graphEngine struct{ *dali.Pipeline }

func (g graphEngine) next(ctx context.Context, i int) (*slotBatch, error) {
	b, err := g.Peek(ctx, i)
	if err != nil {
		return nil, err
	}
	return outgoing(b), nil
}

func (g graphEngine) ready(i int) bool { return g.Ready(i) }

func (g graphEngine) taken(ctx context.Context) error {
	_, err := g.Take(ctx)
	return cmp.Or(err, g.Release())
}

// piped is a pipeline of a client.
type piped struct {
	engine
	slots  slots
	fed    bool  // there are external sources
	ended  bool  // the client has no further data for this epoch
	begun  int64 // batches of the epoch that were begun
	resets int64 // how often the client began the next epoch

	fedBytes map[string]int64 // of the largest of the newest batches of each external source

	last   int64 // number of the batch that the client got last
	unsure int   // how many that the client got may not be the program's yet

	functions functions // of the client
	lane      lane      // of the calls that use the pipeline

	warning sync.Mutex
	warned  []string
	told    int // how many of them the client has
}

// pipelines are the pipelines of a connection. Numbers are not used twice.
type pipelines struct {
	mu   sync.Mutex
	last int64
	by   map[int64]*piped
}

func (ps *pipelines) add(p *piped) int64 {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.by == nil {
		ps.by = map[int64]*piped{}
	}
	ps.last++
	ps.by[ps.last], p.functions.pipeline = p, ps.last
	return ps.last
}

func (ps *pipelines) find(id int64) (*piped, error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p := ps.by[id]; p != nil {
		return p, nil
	}
	return nil, &errs.Error{Kind: errs.NotFound, Subject: "pipeline " + strconv.FormatInt(id, 10),
		Want: "an open pipeline of this connection"}
}

// close closes all pipelines.
func (ps *pipelines) close() error {
	ps.mu.Lock()
	open := slices.Collect(maps.Values(ps.by))
	ps.by = nil
	ps.mu.Unlock()
	var failed error
	for _, p := range open {
		failed = cmp.Or(failed, p.end())
	}
	return failed
}

// end closes the pipeline and gives its memory back.
func (p *piped) end() error {
	p.functions.cancel()
	err := p.Close()
	p.functions.close()
	p.slots.close()
	return err
}

// Enabled implements slog.Handler.
func (p *piped) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler: a warning goes to the client.
func (p *piped) Handle(_ context.Context, r slog.Record) error {
	p.warning.Lock()
	defer p.warning.Unlock()
	p.warned = append(p.warned, r.Message)
	return nil
}

// WithAttrs implements slog.Handler.
func (p *piped) WithAttrs([]slog.Attr) slog.Handler { return p }

// WithGroup implements slog.Handler.
func (p *piped) WithGroup(string) slog.Handler { return p }

// beforeBatch implements Options.BeforeBatch.
func (p *piped) beforeBatch(*pipeline.Pipeline) error {
	if p.ended {
		return io.EOF
	}
	return nil
}

// place takes the place of a state: where in which epoch the client goes on.
func (p *piped) place(state []byte) error {
	p.begun, p.resets = 0, 0
	if _, defined := p.engine.(*definedEngine); defined || len(state) == 0 {
		return nil
	}
	s, err := stateproto.Parse(state)
	if err != nil || s.External == nil || len(s.External.Pipeline) == 0 {
		return err
	}
	at, err := stateproto.ParseProgress(s.External.Pipeline)
	p.begun, p.resets = at.Iter, at.EpochIdx
	return err
}

// withPipeline makes a call of a function that uses a pipeline. A pipeline has one call at a time.
// read reads the other arguments.
func withPipeline[A any](read func(*args) A, use func(*call, *piped, A) (reply, error)) func(*call) (reply, error) {
	return func(k *call) (reply, error) {
		taken := int64(math.MaxInt64)
		id := k.args.id("pipeline")
		k.args.into("taken", &taken)
		a := read(k.args)
		if err := k.args.finish(); err != nil {
			return reply{}, err
		}
		p, err := k.pipelines.find(id)
		if err != nil {
			return reply{}, err
		}
		if k.turn == nil { // it came before the pipeline was open
			k.turn = p.lane.join()
		}
		if err := k.turn.wait(k.ctx); err != nil {
			return reply{}, err
		}
		if err := p.settle(k.ctx, taken); err != nil {
			return reply{}, err
		}
		return use(k, p, a)
	}
}

// settle moves the stream behind the batches that the program has, as the client says. One that
// says nothing has no others.
func (p *piped) settle(ctx context.Context, taken int64) error {
	for p.unsure > 0 && taken > p.last-int64(p.unsure) {
		if err := p.taken(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		p.unsure--
	}
	return nil
}

// mostUnsure is how many batches a client has that are not its program's: one that is about to be
// returned, and the next one.
const mostUnsure = 2

// warnings returns what was said since the last call.
func (p *piped) warnings() []string {
	p.warning.Lock()
	defer p.warning.Unlock()
	said := append([]string{}, p.warned[p.told:]...)
	p.told = len(p.warned)
	return said
}

// mostSeconds is far above the time that a function may take.
const mostSeconds = 1 << 30

// pipelineOpen makes a pipeline of its serialized form, or of a definition.
func pipelineOpen(k *call) (reply, error) {
	if k.args.left["definition"] != nil {
		return definitionOpen(k)
	}
	var graph, state []byte
	var hold int
	o := &dali.DeserializeOptions{}
	k.args.into("graph", &graph)
	k.args.into("state", &state)
	k.args.into("hold", &hold)
	k.args.into("memory_limit", &o.MemoryLimit)
	var names []string
	var seconds float64
	k.args.into("functions", &names)
	k.args.into("callback_timeout", &seconds)
	o.EnableMemoryStats = k.args.flag("memory_stats")
	o.EnableTiming = k.args.flag("timing")
	o.SetAffinity = k.args.flag("set_affinity")
	o.TolerateUnused = k.args.flag("tolerate_unused")
	if k.args.flag("on_cpu") {
		o.Device = pipeline.RunOnCPU
	}
	for _, choice := range []struct {
		name string
		to   *dali.Toggle
	}{{"exec_pipelined", &o.ExecPipelined}, {"exec_async", &o.ExecAsync}, {"exec_dynamic", &o.ExecDynamic}} {
		var on *bool
		k.args.into(choice.name, &on)
		if on != nil {
			*choice.to = dali.Off
			if *on {
				*choice.to = dali.On
			}
		}
	}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	if hold < 0 {
		return reply{}, wrongArgument("hold", "at least 1, or 0 for the default", strconv.Itoa(hold))
	}
	if !(seconds >= 0 && seconds <= mostSeconds) {
		return reply{}, wrongArgument("callback_timeout", "seconds, or 0 for no limit",
			strconv.FormatFloat(seconds, 'g', -1, 64))
	}
	p := &piped{slots: slots{most: cmp.Or(hold, mostHeld), op: "serve.pipeline.run", what: "batches", remedy: heldBatches}}
	p.functions = functions{connection: k.connection, names: names, limit: time.Duration(seconds * float64(time.Second))}
	p.functions.ctx, p.functions.stop = context.WithCancel(context.Background())
	if len(names) > 0 {
		o.Function = p.functions.of
	}
	o.Memory = &p.slots
	o.Log = slog.New(p)
	o.Checkpoint, o.BeforeBatch = state, p.beforeBatch
	d, err := dali.Deserialize(graph, o)
	if err != nil {
		return reply{}, err
	}
	pipe, err := d.New(k.ctx, nil)
	if err != nil {
		return reply{}, err
	}
	p.engine = graphEngine{pipe}
	if err := p.place(state); err != nil {
		return reply{}, errors.Join(err, p.end())
	}
	id := k.pipelines.add(p)
	inputs := map[string]int{}
	for _, n := range d.Graph().Fed() {
		p.fed = true
		if inputs[n.Name], err = pipe.InputFeedCount(n.Name); err != nil {
			return reply{}, err
		}
	}
	readers := map[string]dali.ReaderMeta{}
	for _, r := range pipe.Readers() {
		if readers[r.Name], err = pipe.ReaderMeta(r.Name); err != nil {
			return reply{}, err
		}
	}
	return answer(map[string]any{"pipeline": id, "inputs": inputs, "readers": readers, "consumer": string(pipe.Consumer()),
		"begun": p.begun, "resets": p.resets, "warnings": p.warnings(), "blocking": blocks(graph)})
}

// blocks reports whether an input of a graph that can be read is blocking: the client waits then
// until it was fed.
func blocks(graph []byte) bool {
	g, err := pipeproto.Parse(graph)
	return err == nil && slices.ContainsFunc(g.Ops, func(o pipeproto.Op) bool {
		a := o.Argument("blocking")
		return len(o.Inputs) == 0 && a != nil && len(a.Bools) == 1 && a.Bools[0]
	})
}

const heldBatches = "let go of batches, copy what is needed longer, or let the program hold more " +
	"(hold of pipeline.open, most_held in Python)"

// pipelineDot answers with a drawing of a graph, in the language of Graphviz.
func pipelineDot(k *call) (reply, error) {
	var graph []byte
	k.args.into("graph", &graph)
	o := &dali.DeserializeOptions{}
	o.Device = pipeline.RunOnCPU // nothing runs
	o.Function = (&functions{}).of
	dot := pipeline.DotOptions{Tensors: k.args.flag("tensors"), Colors: k.args.flag("colors")}
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	d, err := dali.Deserialize(graph, o)
	if err != nil {
		return reply{}, err
	}
	return answer(map[string]string{"dot": string(d.DOT(dot))})
}

// noArguments reads no further arguments of a call of a pipeline.
func noArguments(*args) struct{} { return struct{}{} }

// runArgs are the arguments of pipeline.run.
type runArgs struct {
	schedule int
	take     bool
	ahead    bool // take what the program will ask for, unless another call comes first
	most     int  // batches to take, if they are small and ready; 0 is 1
	freed    []int64
}

func readRunArgs(a *args) (r runArgs) {
	a.into("schedule", &r.schedule)
	r.take, r.ahead = a.flag("take"), a.flag("ahead")
	a.into("most", &r.most)
	a.into("freed", &r.freed)
	return r
}

// mostScheduled bounds the batches that one call begins.
const mostScheduled = 1 << 16

// pipelineRun begins batches, and takes the oldest one.
func pipelineRun(k *call, p *piped, a runArgs) (reply, error) {
	if a.schedule < 0 || a.schedule > mostScheduled {
		return reply{}, wrongArgument("schedule", "0 to "+strconv.Itoa(mostScheduled), strconv.Itoa(a.schedule))
	}
	if a.most < 0 || a.most > mostTogether {
		return reply{}, wrongArgument("most", "0 to "+strconv.Itoa(mostTogether), strconv.Itoa(a.most))
	}
	if err := p.slots.free(a.freed); err != nil {
		return reply{}, err
	}
	if a.take { // before the stream moves
		if err := p.slots.admit(); err != nil {
			if !a.ahead {
				return reply{}, err
			}
			a.take = false // the program may let go of batches before it takes this one
		}
	}
	begun := 0
	for ; begun < a.schedule; begun++ {
		ok, err := p.Begin(k.ctx, begun == 0)
		if err != nil && (begun == 0 || errs.KindOf(err) == errs.Busy) {
			return reply{}, err
		}
		if !ok {
			break
		}
		p.begun++
	}
	if !a.take || a.ahead && p.flight().Flight == 0 {
		return p.progress(false)
	}
	if p.unsure == mostUnsure {
		return reply{}, wrongArgument("taken", "at least "+strconv.FormatInt(p.last-1, 10),
			strconv.FormatInt(p.last-mostUnsure, 10))
	}
	ctx := k.ctx
	if a.ahead && !p.ready(p.unsure) {
		var stop context.CancelFunc
		ctx, stop = k.turn.giveWay(ctx)
		defer stop()
	}
	b, err := p.next(ctx, p.unsure)
	switch {
	case errors.Is(err, io.EOF):
		return p.noBatch()
	case err != nil && (p.unsure > 0 || ctx.Err() != nil && k.ctx.Err() == nil):
		return p.progress(false) // the call that takes it as the oldest one says why
	case err != nil:
		return reply{}, err
	}
	all := []*slotBatch{b}
	together := max(1, min(smallTogether/max(1, b.size()), a.most))
	for size := b.size(); len(all) < together && p.ready(p.unsure+len(all)); {
		further, err := p.next(ctx, p.unsure+len(all))
		if err != nil {
			break // the call that takes it as the oldest one says why
		}
		if size += further.size(); size > smallTogether {
			break
		}
		all = append(all, further)
	}
	return p.hand(all, together)
}

// Small batches that are ready go together, while all have at most smallTogether bytes.
const (
	mostTogether  = 64
	smallTogether = 32 << 10
)

// flight says how far the client is.
type flight struct {
	Resets int64 `json:"resets"` // how often the client began the next epoch
	Begun  int64 `json:"begun"`  // batches of the epoch that were begun
	Flight int   `json:"flight"` // batches that were begun and not taken
}

func (p *piped) flight() flight { return flight{p.resets, p.begun, p.InFlight() - p.unsure} }

// progress answers without a batch.
func (p *piped) progress(end bool) (reply, error) {
	return answer(struct {
		flight
		End bool `json:"end,omitempty"`
	}{p.flight(), end})
}

// pipelineProgress says how far the client is, after a call that has failed.
func pipelineProgress(_ *call, p *piped, _ struct{}) (reply, error) { return p.progress(false) }

// pipelineReset ends the epoch behind the batches that were begun, and begins the next one.
func pipelineReset(k *call, p *piped, _ struct{}) (reply, error) {
	p.ended = true
	defer func() { p.ended = false }()
	for more := p.fed; more; { // until the end is seen: a failed batch has left batches to begin again
		var err error
		if more, err = p.Begin(k.ctx, false); err != nil {
			return reply{}, err
		}
	}
	if err := p.Reset(); err != nil {
		return reply{}, err
	}
	p.unsure = min(p.unsure, p.InFlight()) // a definition drops what was begun
	p.begun = 0
	p.resets++
	return p.progress(false)
}

// readConsumer reads the data of a consumer of the stream.
func readConsumer(a *args) []byte { return []byte(a.text("consumer")) }

// pipelineState answers with the state after the batch that was taken last.
func pipelineState(_ *call, p *piped, consumer []byte) (reply, error) {
	state, err := p.AppendStateWith(nil, consumer)
	if err != nil {
		return reply{}, err
	}
	return answer(struct {
		State []byte `json:"state"`
	}{state})
}

// readState reads a state.
func readState(a *args) (state []byte) {
	a.into("state", &state)
	return state
}

// pipelineRestore moves a pipeline to a state.
func pipelineRestore(_ *call, p *piped, state []byte) (reply, error) {
	if err := p.SetState(state); err != nil {
		return reply{}, err
	}
	p.unsure = 0
	if err := p.place(state); err != nil {
		return reply{}, err
	}
	return answer(struct {
		flight
		Consumer string `json:"consumer"`
	}{p.flight(), string(p.Consumer())})
}

// pipelineStatistics answers with what each operator has done.
func pipelineStatistics(_ *call, p *piped, _ struct{}) (reply, error) {
	operators := map[string]map[string][]int64{}
	for name, s := range p.ExecutorStatistics() {
		operators[name] = map[string][]int64{
			"real_memory_size": s.RealMemorySize, "max_real_memory_size": s.MaxRealMemorySize,
			"reserved_memory_size": s.ReservedMemorySize, "max_reserved_memory_size": s.MaxReservedMemorySize,
		}
	}
	return answer(map[string]any{"operators": operators})
}

// pipelineClose ends a pipeline. It waits for the call that uses it.
func pipelineClose(k *call) (reply, error) {
	id := k.args.id("pipeline")
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	p, err := k.pipelines.find(id)
	if err != nil {
		return reply{}, err
	}
	k.pipelines.mu.Lock()
	delete(k.pipelines.by, id)
	k.pipelines.mu.Unlock()
	p.functions.cancel() // the call that uses it may wait for a function
	if k.turn == nil {
		k.turn = p.lane.join()
	}
	if err := k.turn.wait(context.WithoutCancel(k.ctx)); err != nil {
		return reply{}, err
	}
	return nothing(p.end())
}

// operatorOutputs answers with the number of outputs that an operator has. The argument is a
// serialized pipeline with this operator alone.
func operatorOutputs(k *call) (reply, error) {
	var graph []byte
	k.args.into("graph", &graph)
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	d, err := pipeproto.Parse(graph)
	if err != nil {
		return reply{}, err
	}
	if len(d.Ops) != 1 {
		return reply{}, wrongArgument("graph", "one operator", strconv.Itoa(len(d.Ops)))
	}
	n, err := dali.OutputCount(&d.Ops[0])
	if err != nil {
		return reply{}, err
	}
	return answer(map[string]int{"outputs": n})
}
