package options

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/enum"
	"github.com/bivouac-ml/bivouac/internal/toggle"
)

// Unlimited as a Limit, FileSize or time-out means no bound.
const Unlimited = -1

// Toggle is a bool that can be unset: Inherit takes the value of the next scope. In text it is true
// or false. IsOn reports whether it is On.
type Toggle = toggle.Toggle

// The toggles.
const (
	Inherit = toggle.Default // takes the value of the next scope
	On      = toggle.On
	Off     = toggle.Off
)

// ToggleOf returns On for true and Off for false.
func ToggleOf(on bool) Toggle { return toggle.Of(on) }

// Limit is a number of bytes; 0 inherits, Unlimited is no bound.
type Limit int64

// Bytes returns the bound in the form that most of this module uses: 0 is no bound.
func (l Limit) Bytes() int64 { return max(0, int64(l)) }

// FileSize is a number of bytes; 0 inherits, Unlimited is no bound.
type FileSize int64

// CheckpointLayout is a family of formats, as Orbax knows them.
type CheckpointLayout uint8

// The families.
const (
	_               CheckpointLayout = iota
	Auto                             // a load recognises the layout, a save uses Orbax
	Orbax                            // OCDBT or directories of zarr arrays
	SafetensorsFile                  // one file of tensors
)

var checkpointLayouts = []string{"", "auto", "orbax", "safetensors"}

// String returns "auto", "orbax" or "safetensors".
func (l CheckpointLayout) String() string {
	return enum.Name(l, checkpointLayouts, "checkpoint layout %d")
}

// AtomicityMode is how a save becomes visible.
type AtomicityMode uint8

// The modes.
const (
	_ AtomicityMode = iota
	// AutoAtomicity is the mode of the store.
	AutoAtomicity
	// CommitFile loads only checkpoints with commit_success.txt. Saves refuse it: they would have to
	// write in place. Readers that do not look for that file, such as Orbax by default, would then
	// take half a checkpoint for a whole one.
	CommitFile
	// AtomicRename writes under a temporary name and renames.
	AtomicRename
)

var atomicityModes = []string{"", "auto", "commit_file", "atomic_rename"}

// String returns "auto", "commit_file" or "atomic_rename".
func (m AtomicityMode) String() string { return enum.Name(m, atomicityModes, "atomicity mode %d") }

// PathwaysImpl is how Orbax saves from a Pathways cluster.
type PathwaysImpl uint8

// The ways.
const (
	_ PathwaysImpl = iota
	ColocatedPython
	Persistence
	NoDispatcher
)

var pathwaysImpls = []string{"", "colocated_python", "persistence", "no_dispatcher"}

// String returns "colocated_python", "persistence" or "no_dispatcher".
func (p PathwaysImpl) String() string {
	return enum.Name(p, pathwaysImpls, "pathways implementation %d")
}

// parseName returns the value of a name. An empty string in names never matches.
func parseName[V enum.Value](names []string, name, what string) (V, error) {
	if i := slices.Index(names, name); i >= 0 && name != "" {
		return V(i), nil
	}
	want := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" })
	return 0, &errs.Error{Kind: errs.Invalid, Subject: what + " " + strconv.Quote(name),
		Want: "one of " + strings.Join(want, ", "), Remedy: errs.DidYouMean(name, want)}
}
