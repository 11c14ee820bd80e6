package checkpoint

import (
	"fmt"
	"strings"

	"github.com/bivouac-ml/bivouac/tensor"
	"github.com/bivouac-ml/bivouac/tree"
)

// LoadReport lists the leaves that a load returned in another form than they were saved. It is
// filled when the load has succeeded.
type LoadReport struct {
	// Leaves are the leaves that differ from what was saved, in the order in which they were read, and
	// then the leaves that were not read.
	Leaves []LeafReport
	// Layout is the layout of the checkpoint, as Info.Layout.
	Layout string
}

// LeafReport says what became of one leaf.
type LeafReport struct {
	Item  string // "" in a flat checkpoint
	Path  tree.Path
	Saved tensor.Spec // the array as it was saved
	Given tensor.Spec // the array as it was loaded, all boxes together

	Cast      bool // to another type
	Padded    bool // with zeros: the saved array is smaller
	Truncated bool // the saved array is larger
	Skipped   bool // not read: Skip was set, or with PartialLoad the leaf was not asked for
	Filled    bool // missing chunks were read as the fill value: Array.Loading.RaiseArrayDataMissingError
	Missing   bool // not saved: with PartialLoad the value of the abstract tree was kept

	// Lost says why the leaf is damaged. It is set with LoadOptions.Salvage; nothing of the leaf was
	// loaded.
	Lost error
}

// String returns the leaf and what became of it on one line.
func (l LeafReport) String() string {
	var did []string
	for _, d := range []struct {
		done bool
		text string
	}{
		{l.Cast, fmt.Sprintf("cast from %s to %s", l.Saved.DType, l.Given.DType)},
		{l.Padded, fmt.Sprintf("padded from %s to %s", l.Saved.Shape, l.Given.Shape)},
		{l.Truncated, fmt.Sprintf("truncated from %s to %s", l.Saved.Shape, l.Given.Shape)},
		{l.Filled, "filled where chunks are missing"},
		{l.Skipped, "not read"},
		{l.Missing, "not saved: kept"},
		{l.Lost != nil, fmt.Sprint("lost: ", l.Lost)},
	} {
		if d.done {
			did = append(did, d.text)
		}
	}
	at := l.Path.String()
	if l.Item != "" {
		at = l.Item + ": " + at
	}
	return at + ": " + strings.Join(did, ", ")
}

// String has a line for each leaf. It is empty if all leaves are as they were saved.
func (r *LoadReport) String() string {
	var b strings.Builder
	for _, l := range r.Leaves {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

// Lost returns the leaves that are not whole: see LoadOptions.Salvage.
func (r *LoadReport) Lost() []LeafReport {
	var lost []LeafReport
	for _, l := range r.Leaves {
		if l.Lost != nil {
			lost = append(lost, l)
		}
	}
	return lost
}

func (r *LoadReport) add(l LeafReport) {
	if l.Cast || l.Padded || l.Truncated || l.Filled || l.Skipped || l.Missing || l.Lost != nil {
		r.Leaves = append(r.Leaves, l)
	}
}
