// Package telemetry is the seam between the engines and a program that watches them. An engine
// tells the Observer of its context when an operation begins and ends, and what became of each
// batch and step. A context without an Observer costs one look into the context.
//
//	ctx = telemetry.With(ctx, observer)
//	job, err := bivouac.Open(ctx, …)    // tells observer Open and Load
//	for batch, err := range job.Steps(ctx) { … } // tells observer Batch, Step and Save
//
// Package telemetry/otel has an Observer that makes spans and metrics of OpenTelemetry.
package telemetry

import (
	"context"
	"time"
)

// Observer is told what the engines do. Its methods are called by the goroutines of the engines,
// several at once. They must return soon, and must not call the engine that tells them.
type Observer interface {
	// Begin is called when an operation begins. The parts of the operation get the context that it
	// returns, which must come from ctx. The Ending, if it is not nil, is called once when the
	// operation is over, perhaps by another goroutine.
	Begin(ctx context.Context, op Operation) (context.Context, Ending)
	// Batch is called when a loader or a pipeline has delivered a batch, or has failed to make it.
	Batch(ctx context.Context, b Batch)
	// Step is called when a job has done a step.
	Step(ctx context.Context, s Step)
}

// Names of operations. A later version may add names.
const (
	Open     = "open"     // a job opens its run and restores the newest step
	Save     = "save"     // a save, from its call until it is durable
	Snapshot = "snapshot" // the part of a save that plans the files and copies the arrays
	Write    = "write"    // the part of a save that writes and commits, in the background
	Load     = "load"     // a load of a tree or of items
	Verify   = "verify"   // a checkpoint is compared with its checksums
	Copy     = "copy"     // a checkpoint is copied to another place, such as a tier
)

// NoStep is the step of operations that do not belong to a step.
const NoStep = -1

// Operation is what begins.
type Operation struct {
	Name string // Open, Save, …
	Path string // of the checkpoint or the run; "" in the parts of a save
	Step int64  // of the run, or NoStep
}

// Ending ends an operation. The zero Ending does nothing.
type Ending func(Outcome)

// End calls e unless it is nil.
func (e Ending) End(o Outcome) {
	if e != nil {
		e(o)
	}
}

// Failed ends the operation if err is not nil. Otherwise it goes on.
func (e Ending) Failed(err error) {
	if err != nil {
		e.End(Outcome{Err: err})
	}
}

// Outcome is how an operation ended.
type Outcome struct {
	Err   error
	Bytes int64 // written, read or compared; 0 if that is not known
	Files int   // of Save, Verify and Copy
	// Declined belongs to Save: the policy of the run did not want the step, and nothing was saved.
	Declined bool
	// Blocked belongs to Save: how long the caller waited before it could go on.
	Blocked time.Duration
	// Resumed belongs to Open: the step that was restored, or NoStep.
	Resumed int64
}

// Names of engines that deliver batches.
const (
	Loader   = "loader"
	Pipeline = "pipeline"
)

// Batch is a call of Next of a loader or a pipeline. The end of a pass is no batch, nor is a call
// that its context ended.
type Batch struct {
	Engine  string        // Loader or Pipeline
	Samples int           // 0 after an error
	Waited  time.Duration // how long Next took
	Err     error         // why there is no batch, or nil
}

// Step is a step of a job.
type Step struct {
	Number  int64         // how many steps are done with it
	Took    time.Duration // since the step before it, or since the loop began
	Data    time.Duration // of it, for the batch
	Blocked time.Duration // of it, for saves
}

type observerKey struct{}

// With returns a context whose operations are told to o. A nil o returns a context without
// Observer.
func With(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// Of returns the Observer of ctx, or nil.
func Of(ctx context.Context) Observer {
	o, _ := ctx.Value(observerKey{}).(Observer)
	return o
}

// Begin tells the Observer of ctx, if there is one, that an operation begins.
func Begin(ctx context.Context, op Operation) (context.Context, Ending) {
	if o := Of(ctx); o != nil {
		return o.Begin(ctx, op)
	}
	return ctx, nil
}
