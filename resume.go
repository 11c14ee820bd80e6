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

// damaged is a step that looked whole before it was read.
type damaged struct {
	training.Info
	err error
}

// restore loads the newest whole step. It renames nothing before a step is restored.
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
			unread = append(unread, damaged{in, err}) // an older step is just as exact to continue from
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

// setAside renames damaged directories with the name of a step, because a step with the same number
// will be saved.
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

// refuseNewer returns an error if a newer version wrote one of the steps: a run that continued from
// an older step would have two histories.
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
	return &errs.Error{Kind: errs.Unsupported, Want: "only steps that this version reads",
		Got: listed(names) + ", written by a newer version", Err: why[0],
		Remedy: "use that version, or set Options.StartFresh, which moves all steps into aside-<time> and begins at step 0"}
}

// refuseRemains returns an error if there is no step to continue from but there are remains of
// steps: a run that began at step 0 would look like a run that continued.
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
	return &errs.Error{Kind: errs.Corrupt, Want: "a whole step to continue from, or a directory without steps",
		Got: listed(names) + ", none of which is whole",
		Err: why[0], Remedy: "look with bivouac verify, mend with bivouac repair; " +
			"Options.StartFresh moves all of it into aside-<time> and begins at step 0"}
}

// listed joins the first few of the names.
func listed(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
	}
	return strings.Join(names, ", ")
}
