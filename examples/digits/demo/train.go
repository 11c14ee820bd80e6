package demo

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/bivouac-ml/bivouac"
	"github.com/bivouac-ml/bivouac/examples/digits"
	"github.com/bivouac-ml/bivouac/pipeline"
)

// Training says what is trained, and where its steps lie. Two trainings with
// equal Data, Seed and Steps have equal results, whatever the rest is.
type Training struct {
	Run       string `json:"run"`  // directory of the steps
	Data      string `json:"data"` // directory of the data set
	Seed      uint64 `json:"seed"`
	Steps     int64  `json:"steps"`
	SaveEvery int64  `json:"save_every"`
	Threads   int    `json:"threads"`
	Prefetch  int    `json:"prefetch"`
}

// keepSteps is how many committed steps stay in the run directory.
const keepSteps = 3

// Train trains to the last step, carrying on after the newest one committed in
// t.Run, and tells emit what happens, from more than one goroutine. A step that
// emit refuses counts as not done.
func Train(ctx context.Context, t Training, emit func(Event) error) error {
	set := digits.Dataset{Dir: t.Data}
	data, err := digits.TrainPipeline(ctx, set, digits.PipelineOptions{Seed: t.Seed, Threads: t.Threads, Prefetch: t.Prefetch})
	if err != nil {
		return err
	}
	state, err := digits.NewState(t.Seed)
	if err != nil {
		data.Close()
		return err
	}
	job, err := bivouac.Open(ctx, t.Run, data, bivouac.Options{
		State:     state,
		SaveEvery: t.SaveEvery,
		Keep:      keepSteps,
		Steps:     t.Steps,
		OnEvent:   func(e bivouac.Event) { relay(e, emit) },
	})
	if err != nil {
		data.Close()
		return err
	}
	if err := steps(ctx, job, state, emit); err != nil {
		job.Close()
		return err
	}
	if err := job.Close(); err != nil {
		return err
	}
	return finish(ctx, t, set, state, emit)
}

// steps trains until the job has no more steps.
func steps(ctx context.Context, job *bivouac.Job[*pipeline.Batch], state *digits.State, emit func(Event) error) error {
	trainer := digits.NewTrainer(state)
	for batch, err := range job.Steps(ctx) {
		if err != nil {
			return err
		}
		loss, err := trainer.Step(batch.Outputs[0], batch.Outputs[1])
		if err != nil {
			return err
		}
		job.Scalar("loss", float64(loss))
		order, pixels := digestBatch(batch)
		if err := emit(Event{Kind: StepDone, Step: state.Step, Loss: loss, Order: order, Pixels: pixels}); err != nil {
			return err
		}
	}
	return nil
}

// finish measures the trained state.
func finish(ctx context.Context, t Training, set digits.Dataset, state *digits.State, emit func(Event) error) error {
	accuracy, err := digits.Accuracy(ctx, state, set, t.Threads)
	if err != nil {
		return err
	}
	sum, err := state.Checksum()
	if err != nil {
		return err
	}
	return emit(Event{Kind: Done, Step: state.Step, State: sum, Accuracy: accuracy})
}

// relay passes on what a job tells. What cannot be told is no reason to stop saving.
func relay(e bivouac.Event, emit func(Event) error) {
	switch e.Kind {
	case bivouac.Resumed:
		_ = emit(Event{Kind: Resumed, Step: e.Step})
	case bivouac.Quarantined:
		_ = emit(Event{Kind: Quarantined, Step: e.Step, Text: e.Err.Error()})
	case bivouac.SaveBegin:
		_ = emit(Event{Kind: SaveBegin, Step: e.Step, Micros: micros(e.Blocked)})
	case bivouac.SaveCommitted:
		_ = emit(Event{Kind: Committed, Step: e.Step, Micros: micros(e.Took)})
	}
}

func micros(d time.Duration) int64 { return d.Microseconds() }

// digestBatch returns digests of the ids of the samples and of all outputs.
func digestBatch(b *pipeline.Batch) (order, pixels string) {
	h := sha256.New()
	for _, id := range b.IDs {
		var buf [8]byte
		binary.LittleEndian.PutUint64(buf[:], uint64(id))
		h.Write(buf[:])
	}
	order = short(h)
	h.Reset()
	for _, out := range b.Outputs {
		h.Write(out.Data)
	}
	return order, short(h)
}
