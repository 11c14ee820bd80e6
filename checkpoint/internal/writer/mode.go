package writer

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
	if how == InPlace {
		o.Copied = nil // the caller waits for all of it
	}
	im, err := Plan(items, o)
	if err != nil {
		return nil, err
	}
	im.mode = how
	switch {
	case how == HandOver || o.Copied != nil:
		err = im.handOver(released)
	case how == Copy && im.fits(o.Budget):
		err = im.Snapshot(im.opts.Memory)
	}
	if err != nil {
		return nil, err
	}
	im.status.apart(im, func(a *array) bool { return im.stats.Copied && im.copied(a) })
	return im, nil
}

// handOver copies what Options.Copied names, and leaves the rest to Commit.
func (im *Image) handOver(released func()) error {
	im.mode, im.opts.OnRelease = HandOver, released
	if im.opts.Watch {
		im.watch()
	}
	if im.SnapshotSize() > 0 && im.opts.Copied != nil {
		memory := im.opts.Memory
		if !im.fits(im.opts.Budget) {
			memory = Heap{} // what is named is copied in any case
		}
		if err := im.Snapshot(memory); err != nil {
			return err
		}
	}
	im.stats.Blocked = time.Since(im.start)
	return nil
}

// WaitCopied returns when the caller may go on, Commit running in the
// background: at once, unless a copy would have passed the budget.
func (im *Image) WaitCopied() {
	if im.mode == Copy {
		<-im.released
	}
}
