package training

import (
	"context"
	"errors"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/scrub"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// stepCopy is a step in one of the tiers.
type stepCopy struct {
	Info
	at   *Checkpointer // of the directory
	tier string        // "" is the nearest
}

// copies returns the copies of a step, or of the newest for Latest, the nearest first.
func (c *Checkpointer) copies(op string, step int64) ([]stepCopy, error) {
	in, err := c.find(op, step)
	if err != nil {
		return nil, err
	}
	var out []stepCopy
	if here, ok := c.own(in.Step); ok {
		out = append(out, stepCopy{here, c, ""})
	}
	for _, t := range c.uploads.tiers {
		if there, ok := t.far.own(in.Step); ok {
			out = append(out, stepCopy{there, t.far, t.Name})
		}
	}
	if len(out) == 0 { // it was removed just now
		out = append(out, stepCopy{in, c, ""})
	}
	return out, nil
}

// read calls get for the nearest copy of a step. If this copy is damaged or cannot be read, it
// calls get for the next one, and sends FellBack when a copy was read.
func read[T any](ctx context.Context, c *Checkpointer, op string, step int64, o *checkpoint.LoadOptions,
	get func(ctx context.Context, path string, o *checkpoint.LoadOptions) (T, error)) (v T, err error) {
	copies, err := c.copies(op, step)
	if err != nil {
		return v, err
	}
	var failed []error
	for _, s := range copies {
		var lo *checkpoint.LoadOptions
		if lo, err = s.at.loadOptions(ctx, s.Info, o); err != nil {
			return v, err
		}
		v, err = get(ctx, s.at.path(s.Directory), lo)
		if err == nil {
			if len(failed) > 0 {
				c.opts.OnEvent(Event{Kind: FellBack, Step: s.Step, Name: s.Directory, Tier: s.tier,
					Err: errors.Join(failed...)})
			}
			return v, nil
		}
		if !elsewhere(err) || len(copies) == 1 {
			return v, err
		}
		if errors.Is(err, errs.Corrupt) && s.at == c {
			c.noteDamage(ctx, s.Info, err)
		}
		failed = append(failed, errs.Wrap("", s.at.dir, err))
	}
	return v, allFailed(op, c.dir, failed)
}

// elsewhere reports whether another copy of a step may be read although this one was not.
func elsewhere(err error) bool {
	if errors.Is(err, errs.Corrupt) {
		return true
	}
	switch errs.KindOf(err) {
	case errs.NotFound, errs.IO, errs.Permission, errs.Exhausted, errs.Busy:
		return true
	}
	return false
}

// allFailed returns the error for a step of which no copy could be read. It is of kind errs.Corrupt
// only if all copies are damaged: as long as one may be whole and was not reached, an older step
// must not take its place.
func allFailed(op, dir string, failed []error) error {
	kind := errs.Corrupt
	for _, err := range failed {
		if k := errs.KindOf(err); !errors.Is(err, errs.Corrupt) && k != errs.NotFound {
			return &errs.Error{Kind: k, Op: op, Subject: dir, Got: "no copy of the step that can be read",
				Err: hidden{errors.Join(failed...)}, Remedy: "make the tier reachable"}
		}
	}
	return &errs.Error{Kind: kind, Op: op, Subject: dir, Got: "no whole copy of the step in any tier",
		Err: errors.Join(failed...)}
}

// hidden is an error whose text counts, and not what it is.
type hidden struct{ err error }

// Error implements error.
func (h hidden) Error() string { return h.err.Error() }

// noteDamage makes retention in the nearest tier not count a damaged step.
func (c *Checkpointer) noteDamage(ctx context.Context, in Info, why error) {
	b, _ := store.ReadAll(ctx, c.store, c.path(in.Directory, manifest.Name)) // the hash of nothing is of no step
	c.unsound.note(scrub.Entry{Step: in.Step, Directory: in.Directory, Manifest: manifest.HashOf(b),
		Damages: []scrub.Damage{{File: in.Directory, What: why.Error()}}})
}
