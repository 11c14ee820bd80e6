package pipeline

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/telemetry"
)

// watch returns the Observer of ctx and the time, if there is an Observer.
func watch(ctx context.Context) (time.Time, telemetry.Observer) {
	watcher := telemetry.Of(ctx)
	if watcher == nil {
		return time.Time{}, nil
	}
	return time.Now(), watcher
}

// tellBatch tells an Observer what became of a batch. The end of an epoch is no batch, nor is a
// call that its context ended.
func tellBatch(ctx context.Context, watcher telemetry.Observer, b *Batch, err error, waited time.Duration) {
	t := telemetry.Batch{Engine: telemetry.Pipeline, Waited: waited, Err: err}
	switch {
	case err == nil:
		t.Samples = b.samples()
	case errors.Is(err, io.EOF) || errs.KindOf(err) == errs.Canceled:
		return
	}
	watcher.Batch(ctx, t)
}
