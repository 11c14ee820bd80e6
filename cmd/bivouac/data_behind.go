package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/journal"
	"github.com/bivouac-ml/bivouac/loader"
	"github.com/bivouac-ml/bivouac/loader/dataset"
	"github.com/bivouac-ml/bivouac/reader"
)

// behindOptions say where the samples are that a state names by numbers.
type behindOptions struct {
	Data string
	Base string
}

func (o *behindOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Data, "data", "",
		"`DATA` that the run read: a data.yaml, a file or a folder; by default what the run has kept of it")
	f.StringVar(&o.Base, "base", "",
		"`DIRECTORY` to which the paths of the kept data.yaml are relative, if the data were moved")
}

// behind are the data of a run.
type behind struct{ *dataset.Data }

// open opens the data behind a state. Without --data it is what the run keeps: the data.yaml of the
// attempt that made the state. It returns nil if nothing is kept.
func (o *behindOptions) open(ctx context.Context, s *saved) (*behind, error) {
	var d *dataset.Data
	var err error
	switch {
	case o.Data != "" && o.Base != "":
		return nil, usageError{&errs.Error{Kind: errs.Invalid, Op: "data", Subject: "--data and --base", Want: "one of them"}}
	case o.Data != "":
		d, err = dataset.Open(ctx, o.Data, dataset.OpenOptions{Inspect: true})
	default:
		d, err = o.kept(ctx, s)
	}
	if err != nil || d == nil {
		return nil, err
	}
	if err := sameData(d, s); err != nil {
		d.Close() //nolint:errcheck // only read
		return nil, err
	}
	return &behind{d}, nil
}

// sameData returns an error unless the data are those that the run read.
func sameData(d *dataset.Data, s *saved) error {
	if s.doc == nil || s.doc.Fingerprint == "" || s.doc.Kind != "loader" {
		return nil
	}
	have := d.Fingerprint()
	n, err := strconv.ParseInt(s.doc.Fields["samples"], 10, 64)
	if err == nil && n != d.Len() {
		have = d.FingerprintOf(n) // the data have grown since
	}
	if have == s.doc.Fingerprint {
		return nil
	}
	return &errs.Error{Kind: errs.Mismatch, Op: "data", Subject: "fingerprint of the data",
		Want: s.doc.Fingerprint + ", as the run read", Got: have,
		Remedy: "give the data of the run with --data; bivouac explain prints which they were"}
}

// kept opens the data.yaml that the run keeps for the attempt that made the state.
func (o *behindOptions) kept(ctx context.Context, s *saved) (*dataset.Data, error) {
	if s.jobStep < 0 {
		return nil, nil
	}
	run := place(place(place(s.name).parent()).parent()) // s.name is the item of a step
	made, err := definitionAt(ctx, run, s.jobStep)
	if err != nil || made == nil {
		return nil, err
	}
	name := run.join("metadata", made.Definition)
	text, err := place(name).read(ctx, mostState)
	if errors.Is(err, fs.ErrNotExist) || errs.KindOf(err) == errs.NotFound {
		return nil, &errs.Error{Kind: errs.NotFound, Op: "data", Subject: name, Want: "the data.yaml that the journal names",
			Got: "no such file", Remedy: "give the data with --data"}
	}
	if err != nil {
		return nil, errs.Wrap("data", name, err)
	}
	if sum := sha256.Sum256(text); made.Definition != "data-"+hex.EncodeToString(sum[:])+".yaml" {
		return nil, &errs.Error{Kind: errs.Corrupt, Op: "data", Subject: name, Want: "the text that its name says",
			Got: "another text", Remedy: "give the data with --data"}
	}
	base := made.Base
	if o.Base != "" {
		base = o.Base
	}
	d, err := dataset.OpenText(ctx, name, text, base, dataset.OpenOptions{Inspect: true})
	if err != nil {
		return nil, &errs.Error{Kind: errs.KindOf(err), Err: err,
			Remedy: "if the data were moved, --base DIRECTORY says where to, or --data names them"}
	}
	return d, nil
}

// definitionAt returns what the journal of a run says about the data of a step, or nil.
func definitionAt(ctx context.Context, run place, step int64) (made *journal.Data, err error) {
	st, name, err := run.open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := journal.Open(ctx, st, name)
	if err != nil {
		return nil, err
	}
	for _, s := range journal.Spans(r.Attempts()) {
		if a := s.Attempt; a.Known && a.Start.Data != nil && a.Start.From <= step && (s.Has(step) || made == nil) {
			made = a.Start.Data
		}
	}
	return made, nil
}

// describe names a sample: by its file, or by its place in its source.
func (b *behind) describe(id int64) string {
	source, own, err := b.Split(id)
	if err != nil {
		return ""
	}
	text := b.Source(source).Describe(own)
	if names := b.Sources(); len(names) > 1 {
		text = names[source] + ": " + text
	}
	return text
}

// sample reads a sample.
func (b *behind) sample(ctx context.Context, id int64) (reader.Fields, error) {
	return b.At(ctx, id, loader.Random{})
}
