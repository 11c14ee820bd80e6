package training

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Tags of steps are files of the directory .bivouac.tags beside the steps: <step>@<tag> for each.
// So two processes that tag at once do not undo each other's work, and a copy of the run has the
// tags. The file holds the time; only its name counts.
const (
	tagsName = ".bivouac.tags"
	tagMark  = "@"
)

// Protected is the tag that `bivouac protect` gives to steps. It has the effect of any other tag.
const Protected = "protected"

// CheckTag returns an error unless tag is a tag: 1 to 64 letters, digits, ".", "-" and "_", of
// which the first is not a point.
func CheckTag(tag string) error {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"
	if tag == "" || len(tag) > 64 || tag[0] == '.' || strings.Trim(tag, letters) != "" {
		return &errs.Error{Kind: errs.Invalid, Op: "training.Tag", Subject: strconv.Quote(tag),
			Want: "a tag of at most 64 letters, digits, '.', '-' and '_'"}
	}
	return nil
}

// Tag gives a step a tag, which may have any meaning to the caller. A step with a tag is kept: the
// preservation policies of all processes spare it, and Delete refuses it unless
// DeleteOptions.Tagged is set. The tag belongs to the number of the step, also if the step is saved
// anew. It is durable when Tag returns. Tag takes no lock. It fails with errs.NotFound if the step
// does not exist, or was being removed at this moment.
func (c *Checkpointer) Tag(ctx context.Context, step int64, tag string) error {
	const op = "training.Tag"
	if err := CheckTag(tag); err != nil {
		return err
	}
	in, err := c.find(op, step)
	if err != nil {
		return err
	}
	text := c.opts.Now().UTC().Format(time.RFC3339) + "\n"
	name := c.path(tagsName, tagFile(in.Step, tag))
	if err := c.store.Put(ctx, name, []byte(text), store.PutOptions{}); err != nil {
		return errs.Wrap(op, c.dir, err)
	}
	if _, err := c.store.Stat(ctx, c.path(in.Directory)); err != nil {
		if errs.KindOf(err) == errs.NotFound { // a tag of nothing would protect a later step
			err = errors.Join(err, c.store.RemoveTree(context.WithoutCancel(ctx), name))
		}
		return errs.Wrap(op, c.dir, err)
	}
	return nil
}

// Untag takes a tag from a step, and reports whether the step had it. The step need not exist.
func (c *Checkpointer) Untag(ctx context.Context, step int64, tag string) (bool, error) {
	if err := CheckTag(tag); err != nil {
		return false, err
	}
	if step == Latest {
		in, err := c.find("training.Untag", step)
		if err != nil {
			return false, err
		}
		step = in.Step
	}
	err := c.store.RemoveTree(ctx, c.path(tagsName, tagFile(step, tag)))
	if errs.KindOf(err) == errs.NotFound {
		return false, nil
	}
	return err == nil, errs.Wrap("training.Untag", c.dir, err)
}

// Tags returns the tags of each step that has any, ascending. It reads them from the store, as
// other processes have left them.
func (c *Checkpointer) Tags(ctx context.Context) (map[int64][]string, error) {
	tags := map[int64][]string{}
	for e, err := range c.store.List(ctx, c.path(tagsName)) {
		if errs.KindOf(err) == errs.NotFound {
			return tags, nil // no step was ever tagged
		}
		if err != nil {
			return nil, errs.Wrap("training.Tags", c.dir, err)
		}
		digits, tag, _ := strings.Cut(e.Name, tagMark)
		step, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && step >= 0 && !e.Dir && CheckTag(tag) == nil {
			tags[step] = append(tags[step], tag)
		}
	}
	for _, list := range tags {
		slices.Sort(list)
	}
	return tags, nil
}

func tagFile(step int64, tag string) string { return strconv.FormatInt(step, 10) + tagMark + tag }

// tagged returns why the tags of a step keep it, or "" if it has no tags.
func (c *Checkpointer) tagged(ctx context.Context, step int64) (why string, err error) {
	tags, err := c.Tags(ctx)
	if list := tags[step]; len(list) > 0 {
		why = "it has the tag " + strings.Join(list, ", ")
	}
	return why, err
}

// untagToDelete returns an error if a step has tags and they are to keep it. Otherwise it removes
// them.
func (c *Checkpointer) untagToDelete(ctx context.Context, step int64, o *DeleteOptions) error {
	why, err := c.tagged(ctx, step)
	if err != nil || why == "" {
		return err
	}
	if !o.Tagged {
		return &errs.Error{Kind: errs.Invalid, Want: "a step without tags", Got: why,
			Remedy: "take the tag away, or set DeleteOptions.Tagged"}
	}
	tags, err := c.Tags(ctx)
	for _, tag := range tags[step] {
		_, gone := c.Untag(ctx, step, tag)
		err = errors.Join(err, gone)
	}
	return err
}

// PruneOptions modify Prune; nil is the zero value.
type PruneOptions struct {
	// DryRun only says what would be removed. It takes no lock.
	DryRun bool
}

// Prune removes the steps that the preservation policy does not keep, as a save does after its
// commit. It returns all steps, ascending, and of each whether it stays and why. It never removes
// the newest step, the last whole step, a step with tags, or a step with a lease. Directories that
// are not whole steps stay too.
//
// The process becomes the writer of the directory. If another process is the writer, such as a
// training, the error is of kind errs.Busy and nothing is removed.
func (c *Checkpointer) Prune(ctx context.Context, o *PruneOptions) ([]Retained, error) {
	const op = "training.Prune"
	if o == nil {
		o = &PruneOptions{}
	}
	c.saving.Lock()
	defer c.saving.Unlock()
	c.mu.Lock()
	closed, saved := c.closed, c.pending
	c.mu.Unlock()
	if closed {
		return nil, &errs.Error{Kind: errs.Closed, Op: op, Subject: c.dir}
	}
	if saved != nil {
		<-saved.Done()
	}
	<-c.removals()
	if !o.DryRun {
		if err := c.takeLock(ctx); err != nil {
			return nil, errs.Wrap(op, c.dir, err)
		}
		if err := c.reloadNearest(ctx); err != nil { // the last writer may have changed it
			return nil, errs.Wrap(op, c.dir, err)
		}
	}
	list := c.Retention()
	hidden, err := c.retain(ctx, o.DryRun, func(in Info, spared string) {
		i := slices.IndexFunc(list, func(r Retained) bool { return r.Step == in.Step })
		if list[i].Keep = spared != ""; spared != "" {
			list[i].Reason = spared
		}
	})
	for i := range list {
		if _, there := c.own(list[i].Step); there && err != nil && !list[i].Keep {
			list[i].Keep, list[i].Reason = true, "a removal failed"
		}
	}
	return list, errs.Wrap(op, c.dir, errors.Join(err, c.free(hidden)))
}
