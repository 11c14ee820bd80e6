package dali

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/proof/dalivec"
	"github.com/bivouac-ml/bivouac/tensor"
)

// recorded is what a program of the vectors gave: a value or an exception.
type recorded struct {
	OK            bool
	Value         json.RawMessage
	Type, Message string
}

// raised is the exception, nil when there is a value.
func (r *recorded) raised() *dalivec.Raised {
	if r.OK {
		return nil
	}
	return &dalivec.Raised{Type: r.Type, Message: r.Message}
}

// execCase is a kind of entry of exec.json.
type execCase interface {
	// expects returns the recorded result.
	expects() *recorded
	// run computes what is recorded of a good run, as decoded JSON has it.
	run(ctx context.Context) (any, error)
}

func execCases(set *dalivec.Set) ([]suite.Case, error) {
	var f struct {
		IteratorPolicy   []*iteratorPolicy    `json:"iterator_policy"`
		Sized            []*iteratorOfSize    `json:"iterator_without_reader"`
		Cycles           []*sourceCycle       `json:"external_source_cycle"`
		FeedInput        []*feedInput         `json:"feed_input"`
		RunAPI           []*runAPI            `json:"run_api"`
		Statistics       []*statistics        `json:"executor_statistics"`
		Properties       []*properties        `json:"properties"`
		DynamicEvalModes map[string]*evalMode `json:"dynamic_eval_modes"`
	}
	if err := dalivec.ReadJSON(set.Path("exec.json"), &f); err != nil {
		return nil, err
	}
	var all []suite.Case
	add := func(section string, i int, c execCase) {
		name := path.Join("exec", section, fmt.Sprintf("%03d", i))
		all = append(all, suite.Case{Name: name, Family: "exec", Path: name,
			Run: func(ctx context.Context, r *suite.Report) { runExec(ctx, r, c) }})
	}
	addAll("iterator_policy", f.IteratorPolicy, add)
	addAll("iterator_without_reader", f.Sized, add)
	addAll("external_source_cycle", f.Cycles, add)
	addAll("feed_input", f.FeedInput, add)
	addAll("run_api", f.RunAPI, add)
	addAll("executor_statistics", f.Statistics, add)
	addAll("properties", f.Properties, add)
	for _, mode := range slices.Sorted(maps.Keys(f.DynamicEvalModes)) {
		name := path.Join("exec/dynamic_eval_modes", mode)
		all = append(all, suite.Case{Name: name, Family: "exec", Path: name, Run: func(ctx context.Context, r *suite.Report) {
			settle(r, dalivec.JudgeRun(nil, func() error { return f.DynamicEvalModes[mode].run(ctx, mode) }))
		}})
	}
	return all, nil
}

func addAll[C execCase](section string, cases []C, add func(string, int, execCase)) {
	for i, c := range cases {
		add(section, i, c)
	}
}

// runExec holds what a case computes against what is recorded.
func runExec(ctx context.Context, r *suite.Report, c execCase) {
	want := c.expects()
	settle(r, dalivec.JudgeRun(want.raised(), func() error {
		got, err := c.run(ctx)
		if _, own := c.(*statistics); own && err == nil {
			r.Diverge("executor_statistics", "sizes of our own operators, whatever the executor")
			return nil
		}
		if err != nil || !want.OK {
			return err
		}
		b, err := json.Marshal(got)
		if err != nil {
			return err
		}
		have, err := suite.ParseJSON(b)
		if err != nil {
			return err
		}
		expected, err := suite.ParseJSON(want.Value)
		if err != nil {
			return err
		}
		if !suite.SameJSON(have, expected) {
			return fmt.Errorf("got %s, want %s", b, want.Value)
		}
		return nil
	}))
}

// iteratorPolicy is an iterator over the shards of a data set of files.
type iteratorPolicy struct {
	N, Batch, Shards  int
	Policy            string
	PadLastBatch      bool `json:"pad_last_batch"`
	StickToShard      bool `json:"stick_to_shard"`
	AutoReset         bool `json:"auto_reset"`
	PrepareFirstBatch bool `json:"prepare_first_batch"`
	Result            recorded
}

func (c *iteratorPolicy) expects() *recorded { return &c.Result }

func (c *iteratorPolicy) run(ctx context.Context) (any, error) {
	root, _, err := fileTree(ctx, c.N, 3)
	if err != nil {
		return nil, err
	}
	last, err := lastBatch(c.Policy)
	if err != nil {
		return nil, err
	}
	pipes, closeAll, err := severalPipelines(ctx, c.Shards, daliOptions(c.Batch, nil),
		func(b *pipeline.Builder, shard int) []pipeline.Node {
			return b.Op("readers.file", op.Args{"name": "r", "file_root": root, "shard_id": shard, "num_shards": c.Shards,
				"pad_last_batch": c.PadLastBatch, "stick_to_shard": c.StickToShard})
		})
	if err != nil {
		return nil, err
	}
	defer closeAll()
	return iterate(ctx, pipes, dali.IteratorOptions{ReaderName: "r", LastBatch: last, AutoReset: c.AutoReset,
		Lazy: !c.PrepareFirstBatch},
		func(t tensor.Tensor) (int64, error) { return fileIndex(t.Data) })
}

// iteratorOfSize is an iterator over external sources: source s yields 1000*s + the running number.
type iteratorOfSize struct {
	Size             int64
	Batch, Pipelines int
	Policy           string
	AutoReset        bool `json:"auto_reset"`
	Result           recorded
}

func (c *iteratorOfSize) expects() *recorded { return &c.Result }

func (c *iteratorOfSize) run(ctx context.Context) (any, error) {
	last, err := lastBatch(c.Policy)
	if err != nil {
		return nil, err
	}
	pipes, closeAll, err := severalPipelines(ctx, c.Pipelines, daliOptions(c.Batch, nil),
		func(b *pipeline.Builder, s int) []pipeline.Node {
			return pipeline.ExternalSource(b, pipeline.BatchFunc(func(_ context.Context, i pipeline.BatchInfo) ([]pipeline.Data, error) {
				if c.Size < 0 && i.Iteration >= 3 {
					return nil, io.EOF
				}
				var samples []tensor.Tensor
				for j := range c.Batch {
					samples = append(samples, number32(1000*int64(s)+i.Iteration*int64(c.Batch)+int64(j)))
				}
				return []pipeline.Data{samples}, nil
			}), pipeline.SourceOptions{})
		})
	if err != nil {
		return nil, err
	}
	defer closeAll()
	return iterate(ctx, pipes, dali.IteratorOptions{Size: max(0, c.Size), LastBatch: last, AutoReset: c.AutoReset},
		firstNumber)
}

func lastBatch(policy string) (order.Tail, error) {
	for name, l := range map[string]order.Tail{"FILL": order.Span, "DROP": order.Drop, "PARTIAL": order.Short} {
		if name == policy {
			return l, nil
		}
	}
	return 0, fmt.Errorf("unknown policy %q", policy)
}

// iterate goes through three epochs and returns what is recorded of them.
func iterate(ctx context.Context, pipes []*dali.Pipeline, o dali.IteratorOptions, decode func(tensor.Tensor) (int64, error)) (any, error) {
	it, err := dali.NewIterator(ctx, pipes, o)
	if err != nil {
		return nil, err
	}
	epochs, states := [][][][]int64{}, []string{}
	for range 3 {
		epoch := [][][]int64{}
		for batches, err := range it.Epoch(ctx) {
			if err != nil {
				return nil, err
			}
			all := [][]int64{}
			for _, b := range batches {
				numbers, err := decodeAll(samplesOf(b)[0], decode)
				if err != nil {
					return nil, err
				}
				all = append(all, numbers)
			}
			if epoch = append(epoch, all); len(epoch) > 50 {
				return nil, errors.New("an epoch that does not end")
			}
		}
		epochs, states = append(epochs, epoch), append(states, it.State())
		if !o.AutoReset {
			if err := it.Reset(ctx); err != nil {
				return nil, err
			}
		}
	}
	return map[string]any{"len": it.Len(), "size": it.Size(), "epochs": epochs, "iterator_data_after_epoch": states}, nil
}

func decodeAll(samples []tensor.Tensor, decode func(tensor.Tensor) (int64, error)) ([]int64, error) {
	numbers := []int64{}
	for _, t := range samples {
		n, err := decode(t)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// number32 is the sample numpy.int32([n]).
func number32(n int64) tensor.Tensor { return tensor.FromSlice([]int32{int32(n)}, 1) }

// firstNumber is the first element of a sample.
func firstNumber(t tensor.Tensor) (int64, error) {
	v, ok := t.Float64(0)
	if !ok {
		return 0, fmt.Errorf("%v holds no number", t)
	}
	return int64(v), nil
}

// sourceCycle is an external source over a list, of batches or of samples.
type sourceCycle struct {
	Items     int
	BatchSize int `json:"batch_size"`
	Cycle     any
	Batch     bool
	Result    recorded `json:"trace_reset_after_stop"`
}

func (c *sourceCycle) expects() *recorded { return &c.Result }

func (c *sourceCycle) run(ctx context.Context) (any, error) {
	options, ok := map[any]pipeline.SourceOptions{
		nil: {}, false: {}, "no": {}, true: {Endless: true}, "quiet": {Endless: true}, "raise": {EachEpoch: true},
	}[c.Cycle]
	if !ok {
		return nil, fmt.Errorf("unknown cycle %v", c.Cycle)
	}
	source := pipeline.SampleSeq(func(yield func([]tensor.Tensor, error) bool) {
		for i := range c.Items {
			if !yield([]tensor.Tensor{number32(int64(i))}, nil) {
				return
			}
		}
	})
	if c.Batch {
		source = pipeline.BatchSeq(func(yield func([]pipeline.Data, error) bool) {
			for i := 0; i < c.Items; i += c.BatchSize {
				var samples []tensor.Tensor
				for j := i; j < min(i+c.BatchSize, c.Items); j++ {
					samples = append(samples, number32(int64(j)))
				}
				if !yield([]pipeline.Data{samples}, nil) {
					return
				}
			}
		})
	}
	p, err := newPipeline(ctx, daliOptions(c.BatchSize, nil), func(b *pipeline.Builder) ([]pipeline.Node, error) {
		return pipeline.ExternalSource(b, source, options), nil
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	trace := []any{}
	for range c.Items*2/c.BatchSize + 3 {
		batch, err := runOrReset(ctx, p)
		if err != nil {
			return nil, err
		}
		if batch == nil {
			trace = append(trace, "StopIteration")
			continue
		}
		numbers, err := decodeAll(batch[0], firstNumber)
		if err != nil {
			return nil, err
		}
		trace = append(trace, numbers)
	}
	return trace, nil
}

// feedInput feeds all batches and then runs as often.
type feedInput struct {
	BatchSize int `json:"batch_size"`
	Prefetch  int
	Batches   [][]int64
	Opts      map[string]any
	Result    recorded
}

func (c *feedInput) expects() *recorded { return &c.Result }

func (c *feedInput) run(ctx context.Context) (any, error) {
	o := daliOptions(c.BatchSize, nil)
	o.Prefetch = c.Prefetch
	if err := setOptions(&o, c.Opts); err != nil {
		return nil, err
	}
	p, err := newPipeline(ctx, o, func(b *pipeline.Builder) ([]pipeline.Node, error) {
		return pipeline.ExternalSource(b, pipeline.Source{}, pipeline.SourceOptions{Name: "in"}), nil
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	feeds, err := p.InputFeedCount("in")
	if err != nil {
		return nil, err
	}
	for _, batch := range c.Batches {
		var samples []tensor.Tensor
		for _, n := range batch {
			samples = append(samples, number32(n))
		}
		if err := p.FeedInput("in", samples, nil); err != nil {
			return nil, err
		}
	}
	trace := [][]int64{}
	for range c.Batches {
		b, err := p.Run(ctx, nil)
		if err != nil {
			return nil, err
		}
		numbers, err := decodeAll(samplesOf(b)[0], firstNumber)
		if err != nil {
			return nil, err
		}
		trace = append(trace, numbers)
	}
	return map[string]any{"input_feed_count": feeds, "trace": trace}, nil
}
