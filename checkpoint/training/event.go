package training

import (
	"time"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/internal/enum"
)

// EventKind says what happened.
type EventKind uint8

// The kinds of events.
const (
	SaveBegin     EventKind = iota + 1 // the state was copied, or need not be; writing begins in the background
	SaveCommitted                      // the step is durable
	SaveFailed                         // the save failed, Err says why; with Uncertain the step may exist all the same
	Removed                            // a step was removed by the preservation policy
	Quarantined                        // a damaged step was set aside under the name Name, Err says why
	Skipped                            // a directory with the name of a step is not listed, Err says why
	Cleaned                            // what an interrupted save had left was removed
	Settled                            // an uncertain save is decided: the step exists and stays, or Err says why not
	Declined                           // a step was not saved, Reason says why
	Spared                             // a step that the preservation policy gives up stays, Reason says why
	MovedAside                         // Options.StartFresh moved a step, or what was left of one, to Name
	Unfreed                            // a step was removed, but its bytes are still there, Err says why; a later save or Open frees them
	StepMissing                        // a signed step is missing or replaced, Err says which; see Options.AcceptMissing
	DamageFound                        // a scrub found a damaged file of a step, which Err names; Open tells what was found before
	Uploaded                           // the further tier Tier has the step, whole and verified
	UploadFailed                       // a copy to Tier failed, Err says why; it is tried again unless GivenUp follows
	GivenUp                            // the step will not be copied to Tier, Reason says why
	FellBack                           // the step was read from Tier, because nearer copies could not be read: Err
	TierFailed                         // Tier could not be listed, Err says why; Reason says with what the run goes on
	TierState                          // copying is over: Step is the newest step of Tier, or -1; Err says what it lacks
)

var eventNames = []string{"", "save begin", "save committed", "save failed", "removed", "quarantined", "skipped",
	"cleaned", "settled", "declined", "spared", "moved aside", "unfreed", "step missing", "damage found",
	"uploaded", "upload failed", "given up", "fell back", "tier failed", "tier state"}

// String returns the kind in words.
func (k EventKind) String() string {
	return enum.Name(k, eventNames, "event %d")
}

// Event is a report to Options.OnEvent.
type Event struct {
	Kind    EventKind
	Step    int64
	Name    string               // of the directory below the root
	Tier    string               // the further tier that the event is about; "" is the directory of the run
	Bytes   int64                // SaveBegin, SaveCommitted: bytes of the checkpoint
	Blocked time.Duration        // SaveBegin: how long the caller was blocked by the copy
	Took    time.Duration        // SaveCommitted: since the save began
	Stats   checkpoint.SaveStats // SaveCommitted: how the time was spent, and what was written
	// Uncertain belongs to SaveFailed: the step was published, but may not survive power loss. Err
	// is store.ErrUncertain. The event Settled follows.
	Uncertain bool
	Reason    string // Declined: what the policy said; Spared, GivenUp, TierFailed, TierState
	Err       error
}
