package pipeline_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/loan"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/order"
	"github.com/bivouac-ml/bivouac/pipeline"
	"github.com/bivouac-ml/bivouac/pipeline/fn"
	"github.com/bivouac-ml/bivouac/stream/faults"
	"github.com/bivouac-ml/bivouac/tensor"
)

func TestStatistics(t *testing.T) {
	if loan.Debug {
		t.Skip("memory that was handed out is not used again, with bivouac_debug")
	}
	dir := dataset(t, prime)
	p := start(t, pipeline.Options{BatchSize: 4, Workers: 2, EnableTiming: true, EnableMemoryStats: true,
		SetAffinity: true, BytesPerSample: 100_000}, training(dir))
	samples := 0
	for range 5 {
		samples += next(t, p).Outputs[0].NumSamples()
	}
	s := p.Statistics()
	if s.Batches != 5 || s.Samples != int64(samples) || s.Depth != 2 || s.Queue > 2 || s.Waited <= 0 ||
		s.ReadAheadPeak <= 0 {
		t.Errorf("%+v", s)
	}
	all := p.Operators()
	for _, name := range []string{"readers.file", "decoders.image", "crop_mirror_normalize", "noise"} {
		o, ok := all[name]
		if !ok || o.Samples < int64(samples) || o.Time <= 0 {
			t.Errorf("%s: %+v of %v", name, o, ok)
		}
	}
	cmn, read, noise := all["crop_mirror_normalize"], all["readers.file"], all["noise"]
	const image = 3 * 9 * 8 * 4
	if d := cmp.Diff([]int64{image}, cmn.MaxRealMemorySize); d != "" || cmn.RealMemorySize[0] != 4*image {
		t.Errorf("an image (-want +got):\n%s, a batch %v", d, cmn.RealMemorySize)
	}
	if noise.ReservedMemorySize[0] != 3*4*12 || noise.MaxReservedMemorySize[0] != 12 { // three frames
		t.Errorf("%v are set aside, %v for a sample", noise.ReservedMemorySize, noise.MaxReservedMemorySize)
	}
	if len(read.RealMemorySize) != 2 || read.MaxRealMemorySize[1] != 4 ||
		read.RealMemorySize[0] <= read.MaxRealMemorySize[0] {
		t.Errorf("of the reader %+v", read)
	}
	if decoded := all["decoders.image"]; decoded.MaxReservedMemorySize[0] < 100_000 {
		t.Errorf("the hint is not heeded: %+v", decoded)
	}
	var b bytes.Buffer
	if err := p.WriteMetrics(&b, "train"); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{`bivouac_pipeline_batches_total{pipeline="train"} 5`, `bivouac_pipeline_operator_samples_total{pipeline="train",operator="noise"} `,
		"# TYPE bivouac_pipeline_queue gauge"} {
		if !strings.Contains(b.String(), line) {
			t.Errorf("%q is not in\n%s", line, b.String())
		}
	}
	if plain := start(t, pipeline.Options{BatchSize: 4}, training(dir)).Operators()["noise"]; plain.Time != 0 ||
		plain.RealMemorySize[0] != 0 {
		t.Errorf("without being asked: %+v", plain)
	}
}

func TestEvents(t *testing.T) {
	dir, vanish, _ := damaged(t)
	var kinds []pipeline.EventKind
	var log bytes.Buffer
	tell := pipeline.LogEvents(slog.New(slog.NewTextHandler(&log, nil)), 2)
	p := start(t, pipeline.Options{BatchSize: 6, OnError: map[string]faults.Action{"": faults.Zero}, OnEvent: func(e pipeline.Event) {
		kinds = append(kinds, e.Kind)
		tell(e)
	}}, ordered(dir))
	vanish()
	next(t, p)
	next(t, p)
	if err := errors.Join(p.Skip(), p.SetState(save(t, p))); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]pipeline.EventKind{pipeline.SampleExcused, pipeline.BatchDelivered, pipeline.SampleExcused, pipeline.BatchDelivered, pipeline.Moved, pipeline.Moved}, kinds); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	for _, text := range []string{"a sample failed", "samples_per_second", "position=18"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("%q is not in the log\n%s", text, log.String())
		}
	}
	kinds = nil
	broken := start(t, pipeline.Options{BatchSize: 6, OnEvent: func(e pipeline.Event) { kinds = append(kinds, e.Kind) }},
		external(told(0), pipeline.SourceOptions{}))
	for range broken.Batches(t.Context()) {
		t.Error("a batch of nothing")
	}
	if d := cmp.Diff([]pipeline.EventKind{pipeline.EpochEnded}, kinds); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestSteadyStateAllocatesNothing: what was allocated once is used again.
func TestSteadyStateAllocatesNothing(t *testing.T) {
	if loan.Debug {
		t.Skip("memory that was handed out is not used again, with bivouac_debug")
	}
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	data := []pipeline.Data{[]tensor.Tensor{tensor.New(tensor.Uint8, 1000), tensor.New(tensor.Uint8, 500),
		tensor.New(tensor.Uint8, 10), tensor.New(tensor.Uint8, 10)}}
	graphs := map[string]func(p *pipeline.Builder) []pipeline.Node{
		"random": func(p *pipeline.Builder) []pipeline.Node {
			return []pipeline.Node{fn.RandomUniform(p, fn.RandomUniformArgs{Shape: op.Const([]int{7})})}
		},
		"external": func(p *pipeline.Builder) []pipeline.Node {
			return pipeline.ExternalSource(p, pipeline.Func(func(context.Context) ([]pipeline.Data, error) { return data, nil }), pipeline.SourceOptions{})
		},
		"files": func(p *pipeline.Builder) []pipeline.Node {
			f, l := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: dataset(t, prime), RandomShuffle: true})
			return []pipeline.Node{f, l}
		},
	}
	for name, most := range map[string]float64{
		"random": 0, "external": 0,
		"files": 4*4 + 2, // opening a file, and the context of the batch
	} {
		for _, timing := range []bool{false, true} {
			p := start(t, pipeline.Options{BatchSize: 4, Tail: order.Span, Workers: 2, EnableTiming: timing},
				graphs[name])
			for range 40 {
				next(t, p)
			}
			if n := testing.AllocsPerRun(50, func() { next(t, p) }); n > most {
				t.Errorf("%s: %v allocations a batch, want %v", name, n, most)
			}
			p.Close()
		}
	}
}

// TestCancellationIsImmediate ends the wait for a source that does not come back on its own.
func TestCancellationIsImmediate(t *testing.T) {
	entered, left := make(chan bool, 8), make(chan bool, 8)
	src := pipeline.BatchFunc(func(ctx context.Context, i pipeline.BatchInfo) ([]pipeline.Data, error) {
		entered <- true
		<-ctx.Done()
		left <- true
		return nil, ctx.Err()
	})
	for _, parallel := range []bool{false, true} {
		p := start(t, pipeline.Options{}, external(src, pipeline.SourceOptions{Parallel: parallel}))
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-entered; cancel() }()
		begun := time.Now()
		_, err := p.Next(ctx)
		if !errors.Is(err, context.Canceled) || time.Since(begun) > 10*time.Second {
			t.Errorf("parallel %v: got %v after %v", parallel, err, time.Since(begun))
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		<-left
	}
}

// refusing is a source that takes no state but its first.
type refusing struct{ reading }

func (r *refusing) SetState(b []byte) error {
	if b[0] != 0 {
		return &errs.Error{Kind: errs.Corrupt, Got: "no such state"}
	}
	return r.reading.SetState(b)
}

func TestRefusedStateOfASource(t *testing.T) {
	a := start(t, pipeline.Options{BatchSize: 2, Prefetch: 1},
		external(pipeline.From(&reading{}), pipeline.SourceOptions{}))
	next(t, a)
	b := start(t, pipeline.Options{BatchSize: 2, Prefetch: 1},
		external(pipeline.From(&refusing{}), pipeline.SourceOptions{}))
	before := save(t, b)
	if err := b.SetState(save(t, a)); !errors.Is(err, errs.Corrupt) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(before, save(t, b)) {
		t.Errorf("the state is\n%s\nand was\n%s", save(t, b), before)
	}
}

// A profile has each operator after its inputs, with what Operators and Statistics say of it.
func TestProfile(t *testing.T) {
	dir := dataset(t, prime)
	for _, counted := range []bool{false, true} {
		p := start(t, pipeline.Options{BatchSize: 4, Workers: 2, EnableTiming: counted, EnableMemoryStats: counted},
			training(dir))
		if first := p.Profile(); len(first.Operators) == 0 || first.Batches != 0 {
			t.Errorf("before the first batch: %+v", first)
		}
		for range 5 {
			next(t, p)
		}
		got, operators, s := p.Profile(), p.Operators(), p.Statistics()
		if got.Batches != 5 || got.Samples != s.Samples || got.Depth != s.Depth || got.Timed != counted ||
			got.Measured != counted || counted != (got.Waited > 0) || len(got.Operators) != len(operators) {
			t.Errorf("%+v, statistics %+v", got, s)
		}
		before, readers, outputs := map[string]bool{}, 0, 0
		for _, o := range got.Operators {
			for _, in := range o.Inputs {
				if !before[in] {
					t.Errorf("%s stands before its input %s", o.Name, in)
				}
			}
			before[o.Name] = true
			most := int64(0) // now: the pipeline goes on
			for _, n := range operators[o.Name].RealMemorySize {
				most += n
			}
			if counted != (o.Time > 0) || counted != (o.Samples > 0) || o.Largest > most || !counted && o.Held > 0 ||
				counted && o.Reader && o.Largest == 0 {
				t.Errorf("counted %v: %+v, at most %d", counted, o, most)
			}
			if o.Reader != strings.HasPrefix(o.Kind, "readers.") || o.Reader && len(o.Inputs) > 0 {
				t.Errorf("%+v", o)
			}
			if o.Reader {
				readers++
			}
			if o.Output {
				outputs++
			}
		}
		if readers != 1 || outputs == 0 {
			t.Errorf("%d readers, %d outputs", readers, outputs)
		}
	}
}
