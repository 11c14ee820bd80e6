package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/bivouac-ml/bivouac/bench/internal/turns"
)

// jitter returns the measurement that compares a percentile of the steps of a busy loop during a
// save with the same percentile in an idle process. The copy, for which a trainer waits anyway,
// does not count.
func jitter(percentile int) func(context.Context, *bench) (measurement, error) {
	return func(ctx context.Context, b *bench) (measurement, error) {
		next, closing, err := b.steps(ctx, fmt.Sprint("jitter", percentile))
		if err != nil {
			return measurement{}, err
		}
		const enough = 400
		var steps []time.Duration
		at := func() time.Duration {
			slices.Sort(steps)
			return steps[len(steps)*percentile/100]
		}
		return measurement{
			title: fmt.Sprintf("a step beside a save, percentile %d", percentile), unit: "step", amount: 1,
			contenders: []contender{
				{name: "idle", baseline: true, once: func(context.Context) (time.Duration, error) {
					steps = steps[:0]
					for range enough {
						steps = append(steps, turns.Compute())
					}
					return at(), nil
				}},
				{name: "while saving", once: func(context.Context) (time.Duration, error) {
					steps = steps[:0]
					for len(steps) < enough {
						r, err := next()
						if err != nil {
							return 0, err
						}
						for pending(r.Done()) {
							steps = append(steps, turns.Compute())
						}
					}
					return at(), nil
				}},
			},
			close: closing,
		}, nil
	}
}

func pending(done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	default:
		return true
	}
}
