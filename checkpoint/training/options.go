package training

import (
	"time"

	"github.com/bivouac-ml/bivouac/store"
)

// Options of a Checkpointer. The zero value keeps every checkpoint under plain
// integers and saves as DefaultSave does, as Orbax's Checkpointer.
type Options struct {
	// Store holds the directory; nil is the local file system.
	Store store.Store
	// Save decides whether a step is saved; nil is DefaultSave().
	Save SavePolicy
	// Preserve decides what is kept; nil is PreserveAll.
	Preserve PreservationPolicy
	// Names spells steps as directory names.
	Names NameFormat
	// Custom is metadata of the run, a value that encodes to a JSON object. It
	// is written when the directory has none yet, and never overwritten.
	Custom any
	// Clean removes what interrupted saves have left below the directory, and
	// renames damaged steps to <name>.damaged so that the step of that number can
	// be saved again; at Open and Reload. Set it only in the one process that
	// saves there.
	Clean bool
	// OnEvent, when not nil, is told what happens, from the caller's goroutine
	// or the one that saves, one call at a time a goroutine.
	OnEvent func(Event)
	// Now replaces time.Now in tests; it decides the times that are recorded.
	Now func() time.Time
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Save == nil {
		d.Save = DefaultSave()
	}
	if d.Preserve == nil {
		d.Preserve = PreserveAll{}
	}
	if d.OnEvent == nil {
		d.OnEvent = func(Event) {}
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	return d
}

// Validate reports the first option that makes no sense.
func (o Options) Validate() error {
	if err := o.Names.Validate(); err != nil {
		return err
	}
	if o.Save != nil {
		if err := o.Save.Validate(); err != nil {
			return err
		}
	}
	if o.Preserve != nil {
		return o.Preserve.Validate()
	}
	return nil
}

// SaveOptions modify one save; nil is the zero value.
type SaveOptions struct {
	// Force saves whatever the policy says, and a step below the latest.
	Force bool
	// Overwrite replaces a checkpoint of this step; else it is errs.Exists.
	Overwrite bool
	// Metrics are kept with the checkpoint; BestN ranks by them.
	Metrics map[string]float64
	// Custom is the checkpoint's metadata, a value that encodes to a JSON object.
	Custom any
}
