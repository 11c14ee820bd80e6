package image

import (
	"time"
)

// Mode says what becomes of the caller's memory.
type Mode uint8

// The modes.
const (
	Copy     Mode = iota // copied while the caller waits; where the budget forbids that, read by Commit while he waits
	InPlace              // read by Commit; the caller waits for that
	HandOver             // read by Commit; the caller waits for Options.OnRelease before he changes it
)

// Begin is Plan and what the mode wants before Commit.
func Begin(items []Item, how Mode, o Options) (*Image, error) {
	released := o.OnRelease
	o.OnRelease = nil
	im, err := Plan(items, o)
	if err != nil {
		return nil, err
	}
	im.mode = how
	switch {
	case how == HandOver:
		im.opts.OnRelease = released
		if o.Watch {
			im.watch()
		}
	case how == Copy && im.fits(o.Budget):
		if err := im.Snapshot(im.opts.Memory); err != nil {
			return nil, err
		}
	}
	if how == HandOver {
		im.stats.Blocked = time.Since(im.start)
	}
	return im, nil
}

// WaitCopied returns when the caller may go on, Commit running in the
// background: at once, unless a copy would have passed the budget.
func (im *Image) WaitCopied() {
	if im.mode == Copy {
		<-im.released
	}
}
