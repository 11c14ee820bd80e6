package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/reader"
	document "github.com/bivouac-ml/bivouac/state"
)

// definedWorkers read a data set whose definition has no workers, so that batches are made ahead.
const definedWorkers = 2

// definedEngine is the engine of a data.yaml: a loader of its data set. A client begins one batch
// and takes it; the workers of the loader read ahead.
type definedEngine struct {
	data   *dataset.Data
	loader *loader.Loader[*reader.Fields, *reader.Fields]
	begun  int
	runs   bool // the loader has begun the epoch in which it is

	// A batch, or the end of an epoch, that is not the program's yet. The state is the one before.
	kept  *slotBatch
	over  bool   // the end is kept
	state []byte // before what is kept
}

// definedMap is a data set whose samples are pointers; see pick.
type definedMap struct{ *dataset.Data }

// At implements loader.Map.
func (m definedMap) At(ctx context.Context, id int64, r loader.Random) (*reader.Fields, error) {
	f, err := m.Data.At(ctx, id, r)
	return &f, err
}

// definedOptions returns options for samples and batches that are pointers.
func definedOptions(of loader.Options[reader.Fields, reader.Fields]) loader.Options[*reader.Fields, *reader.Fields] {
	o := loader.Options[*reader.Fields, *reader.Fields]{
		BatchSize: of.BatchSize, Workers: cmp.Or(of.Workers, definedWorkers), Tail: of.Tail, Timeout: of.Timeout,
		Prefetch: of.Prefetch, Persistent: of.Persistent, SnapshotEvery: of.SnapshotEvery, OutOfOrder: of.OutOfOrder,
		Seed: of.Seed, Name: of.Name, Order: of.Order, GlobalBatch: of.GlobalBatch, Rank: of.Rank, World: of.World,
		Uneven: of.Uneven, SettleEvery: of.SettleEvery, Streams: of.Streams, OnError: of.OnError,
	}
	if collate := of.Collate; collate != nil {
		o.Collate = func(samples []*reader.Fields) (*reader.Fields, error) {
			f, err := collate(fieldsOf(samples))
			return &f, err
		}
	}
	if collate := of.CollatePacks; collate != nil {
		o.CollatePacks = func(packs [][]*reader.Fields) (*reader.Fields, error) {
			values := make([][]reader.Fields, len(packs))
			for i := range packs {
				values[i] = fieldsOf(packs[i])
			}
			f, err := collate(values)
			return &f, err
		}
	}
	return o
}

// fieldsOf returns the samples themselves.
func fieldsOf(samples []*reader.Fields) []reader.Fields {
	values := make([]reader.Fields, len(samples))
	for i := range samples {
		values[i] = *samples[i]
	}
	return values
}

// definitionOpen opens the data set of a definition.
func definitionOpen(k *call) (reply, error) {
	var hold int
	var state []byte
	var variables map[string]string
	var rank, world *int
	text, name, base := k.args.text("definition"), k.args.text("name"), k.args.text("base")
	k.args.into("state", &state)
	k.args.into("hold", &hold)
	k.args.into("environment", &variables)
	k.args.into("rank", &rank)
	k.args.into("world", &world)
	if err := k.args.finish(); err != nil {
		return reply{}, err
	}
	if hold < 0 {
		return reply{}, wrongArgument("hold", "at least 1, or 0 for the default", strconv.Itoa(hold))
	}
	data, err := dataset.OpenText(k.ctx, cmp.Or(name, "definition"), []byte(text), base, dataset.OpenOptions{
		Getenv: func(name string) (value string, ok bool) {
			value, ok = variables[name]
			return value, ok
		}})
	if err != nil {
		return reply{}, err
	}
	p := &piped{slots: slots{most: cmp.Or(hold, mostHeld), op: "serve.pipeline.run", what: "batches", remedy: heldBatches}}
	o := definedOptions(data.Options())
	o.Log = slog.New(p)
	if rank != nil {
		o.Rank = *rank
	}
	if world != nil {
		o.World = *world
	}
	l, err := loader.New(definedMap{data}, o)
	if err != nil {
		return reply{}, errors.Join(errs.Wrap("", name, err), data.Close())
	}
	p.engine = &definedEngine{data: data, loader: l}
	if len(state) > 0 {
		if err := l.SetState(state); err != nil {
			return reply{}, errors.Join(err, p.end())
		}
	}
	length := map[string]int64{}
	if n, ok := l.Len(); ok {
		length["batches"] = n
	}
	return answer(map[string]any{"pipeline": k.pipelines.add(p), "inputs": struct{}{}, "readers": struct{}{},
		"consumer": "", "begun": 0, "resets": 0, "warnings": p.warnings(), "samples": data.Len(), "length": length})
}

// Begin implements engine.
func (d *definedEngine) Begin(context.Context, bool) (bool, error) {
	d.begun++
	return true, nil
}

func (d *definedEngine) next(ctx context.Context, i int) (*slotBatch, error) {
	switch {
	case d.begun <= i:
		return nil, io.EOF
	case i > 0:
		return nil, wrongArgument("taken", "the batch before", "an older one")
	case d.over:
		return nil, io.EOF
	case d.kept != nil:
		return d.kept, nil
	}
	var err error
	if d.state, err = d.loader.AppendState(d.state[:0]); err != nil { // it costs less than 1 µs
		d.begun = 0
		return nil, err
	}
	f, err := d.loader.Next(ctx)
	if err != nil {
		if d.over = errors.Is(err, io.EOF); d.over {
			d.runs = false
		} else {
			d.begun = 0
		}
		return nil, err
	}
	d.runs = true
	h := &slotBatch{Position: d.loader.LastBatch().Position}
	for i := range f.Values {
		v := &f.Values[i]
		out := slotOutput{Name: f.Names[i], DType: v.DType.String(), Layout: v.Layout, Samples: 1, NDim: len(v.Shape),
			Shape: append([]int{}, v.Shape...)}
		h.Outputs, h.data = append(h.Outputs, out), append(h.data, v.Data)
	}
	d.kept = h
	return h, nil
}

// ready implements engine. It has one batch at a time.
func (d *definedEngine) ready(int) bool { return false }

// noBatch answers that there is no batch to take. The end of an epoch of a definition has a number,
// as a batch has: the program may not know of it yet.
func (p *piped) noBatch() (reply, error) {
	d, defined := p.engine.(*definedEngine)
	if !defined || !d.over || p.unsure > 0 {
		return p.progress(true)
	}
	p.last, p.unsure = p.last+1, p.unsure+1
	return answer(struct {
		flight
		End    bool  `json:"end"`
		Number int64 `json:"number"`
	}{p.flight(), true, p.last})
}

// taken implements engine.
func (d *definedEngine) taken(context.Context) error {
	d.begun--
	d.forget()
	return nil
}

// forget lets go of what was kept.
func (d *definedEngine) forget() {
	if d.over {
		d.begun = 0
	}
	d.kept, d.over = nil, false
}

// InFlight implements engine.
func (d *definedEngine) InFlight() int { return d.begun }

// Reset implements engine: it leaves the rest of an epoch out. If the program has no batch of the
// epoch, nothing is left out.
func (d *definedEngine) Reset() error {
	ctx := context.Background()
	at, err := d.AppendStateWith(nil, nil)
	if err != nil {
		return err
	}
	inside, err := withinEpoch(at)
	switch {
	case err != nil:
		return err
	case !inside && d.kept != nil:
		return d.SetState(at)
	case inside && !d.over:
		if !d.runs { // Restart leaves out an epoch that has begun
			if err := d.loader.Start(ctx); err != nil {
				return err
			}
		}
		if err := d.loader.Restart(ctx); err != nil {
			return err
		}
		d.runs = true
	}
	d.begun = 0
	d.forget()
	return nil
}

// withinEpoch reports whether the state of a loader lies behind the beginning of an epoch.
func withinEpoch(b []byte) (bool, error) {
	s, err := document.Unmarshal(b)
	index := string(s.Extra["index"])
	return s.Batch > 0 || index != "" && index != "0" || s.Extra["window"] != nil, err
}

// AppendStateWith implements engine.
func (d *definedEngine) AppendStateWith(dst, consumer []byte) ([]byte, error) {
	if len(consumer) > 0 {
		return dst, wrongArgument("consumer", "none for a definition", strconv.Itoa(len(consumer))+" bytes")
	}
	if d.kept != nil || d.over {
		return append(dst, d.state...), nil
	}
	return d.loader.AppendState(dst)
}

// SetState implements engine.
func (d *definedEngine) SetState(b []byte) error {
	if err := d.loader.SetState(b); err != nil {
		return err
	}
	d.begun, d.runs = 0, false
	d.forget()
	return nil
}

// Consumer implements engine.
func (d *definedEngine) Consumer() []byte { return nil }

// Close implements engine.
func (d *definedEngine) Close() error { return errors.Join(d.loader.Close(), d.data.Close()) }

// FeedInputs implements engine.
func (d *definedEngine) FeedInputs(name string, _ []pipeline.Data, _ *pipeline.FeedOptions) error {
	return &errs.Error{Kind: errs.NotFound, Subject: "external source " + name, Want: "a graph", Got: "a definition"}
}

// ExecutorStatistics implements engine.
func (d *definedEngine) ExecutorStatistics() map[string]pipeline.OperatorStatistics { return nil }
