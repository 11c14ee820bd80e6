package bivouac

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
)

// damaged is a step that looked whole until it was read.
type damaged struct {
	training.Info
	err error
}

// restore loads the newest step that is whole. Until it is restored nothing is set aside.
func (j *Job[B]) restore(ctx context.Context) error {
	start := time.Now()
	remains, err := j.steps.Remains(ctx)
	if err != nil {
		return err
	}
	if err := refuseNewer(remains); err != nil {
		return err
	}
	var unread []damaged
	for _, in := range slices.Backward(j.steps.Checkpoints()) {
		items, err := j.steps.LoadCheckpointables(ctx, in.Step, nil)
		if errors.Is(err, errs.Corrupt) {
			unread = append(unread, damaged{in, err}) // an older step carries on just as exactly
			continue
		}
		if err == nil {
			err = j.apply(in, items)
		}
		if err != nil {
			return errs.Wrap("", "step "+strconv.FormatInt(in.Step, 10), err)
		}
		if err := j.setAside(ctx, unread, remains); err != nil {
			return err
		}
		j.step, j.saved, j.resumed = in.Step, in.Step, in.Step
		j.emit(Event{Kind: Resumed, Step: in.Step, Name: in.Directory, Took: time.Since(start)})
		return nil
	}
	return refuseRemains(unread, remains)
}

// setAside renames what is damaged and has the name of a step: another one of that name is
// to be saved.
func (j *Job[B]) setAside(ctx context.Context, unread []damaged, remains []training.Remains) error {
	for _, r := range remains {
		if errs.KindOf(r.Err) == errs.Corrupt {
			if err := j.steps.Reload(ctx); err != nil {
				return err
			}
			break
		}
	}
	for _, d := range unread {
		if err := j.steps.Quarantine(ctx, d.Step, d.err); err != nil {
			return errors.Join(d.err, err)
		}
	}
	return nil
}

// refuseNewer fails when a newer version wrote one of the steps: a run that went on
// behind an older step would have two histories.
func refuseNewer(remains []training.Remains) error {
	var names []string
	var why []error
	for _, r := range remains {
		if errs.KindOf(r.Err) == errs.Unsupported {
			names, why = append(names, r.Name), append(why, r.Err)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Unsupported, Want: "steps that this version reads",
		Got: listed(names) + ", written by a newer version", Err: why[0],
		Remedy: "use that version; Options.StartFresh moves all steps into aside-<time> and begins at step 0"}
}

// refuseRemains fails when there is no step to go on behind, and yet something is left of
// steps: a run that began at 0 would pass for one that went on.
func refuseRemains(unread []damaged, remains []training.Remains) error {
	var names []string
	var why []error
	for _, d := range unread {
		names, why = append(names, d.Directory), append(why, d.err)
	}
	for _, r := range remains {
		names, why = append(names, r.Name), append(why, r.Err)
	}
	if len(names) == 0 {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Want: "a whole step to go on behind, or a directory without steps",
		Got: listed(names) + ", and none is whole",
		Err: why[0], Remedy: "look with bivouac verify, mend with bivouac repair; " +
			"Options.StartFresh moves all of it into aside-<time> and begins at step 0"}
}

// listed joins names, at most some of them.
func listed(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}
