package serve

import (
	"context"
	"errors"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint/training"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// defaultPatience is the default of training.Uploads.Patience.
const defaultPatience = 10 * time.Minute

// tierArgs is training.Tier as it travels.
type tierArgs struct {
	Directory  string               `json:"directory"`
	Name       string               `json:"name"`
	Save       *training.PolicySpec `json:"save_policy"`
	Preserve   *training.PolicySpec `json:"preservation_policy"`
	Hold       int                  `json:"hold"`
	NoReadBack bool                 `json:"no_read_back"`
}

// tiers reads the further tiers of a checkpointer, and the bounds of the copies.
func (k *call) tiers(o *training.Options, c *checkpointer) error {
	var list []tierArgs
	k.args.into("tiers", &list)
	var u struct {
		Rate     int64    `json:"rate"`
		Memory   int64    `json:"memory"`
		Patience *float64 `json:"patience"`
	}
	k.args.into("uploads", &u)
	for i, a := range list {
		t, err := k.tier(a)
		if err != nil {
			return errs.Wrap("", "argument tiers["+strconv.Itoa(i)+"]", err)
		}
		o.Tiers, c.places = append(o.Tiers, t), append(c.places, t.Directory)
	}
	o.Uploads = training.Uploads{Rate: u.Rate, Memory: u.Memory, Patience: defaultPatience}
	if u.Patience != nil {
		if o.Uploads.Patience = seconds(*u.Patience); o.Uploads.Patience == 0 {
			o.Uploads.Patience = -1 // 0 is the default there, and no time here
		}
	}
	if len(list) > 0 {
		c.patience = o.Uploads.Patience
	}
	return k.args.err
}

func (k *call) tier(a tierArgs) (t training.Tier, err error) {
	if a.Directory == "" {
		return t, &errs.Error{Kind: errs.Invalid, Subject: "directory", Want: "an absolute path or a URL", Got: "no path"}
	}
	if k.args.checkPlace(a.Directory); k.args.err != nil {
		return t, k.args.err
	}
	t = training.Tier{Directory: a.Directory, Name: a.Name, Hold: a.Hold, NoReadBack: a.NoReadBack}
	if a.Save != nil {
		if t.Save, err = a.Save.Save(); err != nil {
			return t, errs.Wrap("", "save_policy", err)
		}
	}
	if a.Preserve != nil {
		t.Preserve, err = a.Preserve.Preservation()
	}
	return t, errs.Wrap("", "preservation_policy", err)
}

// placeOf returns the nearest tier that has a step: a path or a URL.
func (c *checkpointer) placeOf(step int64, tiers []training.TierStatus) string {
	for i, t := range tiers {
		if _, has := slices.BinarySearch(t.Steps, step); has {
			return c.places[i]
		}
	}
	return c.places[0]
}

// below returns a name below a place.
func below(place, name string) string {
	if !store.IsURL(place) {
		return filepath.Join(place, name)
	}
	root, dir := store.SplitURL(place)
	return store.JoinURL(root, path.Join(dir, name))
}

// seconds returns a duration. Those that a Duration cannot hold become the longest one.
func seconds(s float64) time.Duration {
	if s >= math.MaxInt64/float64(time.Second) {
		return math.MaxInt64
	}
	return time.Duration(max(s, 0) * float64(time.Second))
}

// trainingTiers says which tier has which step.
func trainingTiers(_ *call, c *checkpointer) (reply, error) {
	type status struct {
		Tier    string  `json:"tier"`
		Known   bool    `json:"known"`
		Steps   []int64 `json:"steps"`
		Waiting []int64 `json:"waiting"`
		Error   *fault  `json:"error"`
	}
	tiers := []status{}
	for _, t := range c.Tiers() {
		s := status{Tier: t.Tier, Known: t.Known, Steps: append([]int64{}, t.Steps...),
			Waiting: append([]int64{}, t.Waiting...)}
		if t.Err != nil {
			s.Error = newFault(t.Err)
		}
		tiers = append(tiers, s)
	}
	return answer(map[string]any{"tiers": tiers})
}

// trainingDrain copies what the further tiers still want, as long as the time lasts.
func trainingDrain(k *call) (reply, error) {
	c, err := k.checkpointer()
	var limit *float64
	k.args.into("seconds", &limit)
	o := &training.DrainOptions{Newest: k.args.flag("newest")}
	if err == nil {
		err = k.args.finish()
	}
	if err != nil {
		return reply{}, err
	}
	ctx, cancel := k.ctx, context.CancelFunc(func() {})
	if limit != nil {
		ctx, cancel = context.WithTimeout(ctx, seconds(*limit))
	}
	defer cancel()
	return nothing(c.Drain(ctx, o))
}

// closeUntil closes a checkpointer. The end of ctx ends the copies to its further tiers.
func (c *checkpointer) closeUntil(ctx context.Context) error {
	var failed, lacks error
	if c.patience != 0 {
		if failed = c.Wait(ctx); ctx.Err() != nil {
			failed = nil // Close waits longer
		}
		limited, cancel := context.WithTimeout(ctx, max(c.patience, 0))
		lacks = c.Drain(limited, nil)
		cancel()
	}
	return errors.Join(failed, lacks, c.Close())
}

// endCopies ends the copies to the further tiers: nobody waits for them any more, and the next
// process on this disk copies what is missing.
func (c *checkpointer) endCopies() {
	if c.patience == 0 {
		return
	}
	c.Wait(context.Background()) //nolint:errcheck // the log has the errors of Close
	over, cancel := context.WithCancel(context.Background())
	cancel()
	c.Drain(over, nil) //nolint:errcheck // what the tiers lack is copied later
}
