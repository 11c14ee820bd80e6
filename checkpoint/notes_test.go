package checkpoint_test

import (
	"context"
	"strconv"

	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// note is a leaf with a file of its own.
type note struct{ Text string }

// noteInfo describes one; loads of it are of the first Bytes bytes.
type noteInfo struct{ Bytes int }

// notes handles them. Its methods first do what on says under their names.
type notes struct{ on map[string]func() error }

func (h notes) first(method string) error {
	if do := h.on[method]; do != nil {
		return do()
	}
	return nil
}

func noteFile(name string) string { return "notes/" + strconv.Quote(name) }

func (notes) TypeString() string { return "test.Note" }

func (h notes) Serialize(_ context.Context, leaves []handler.Saved[note]) (handler.Commit, error) {
	if err := h.first("Serialize"); err != nil {
		return nil, err
	}
	return func(ctx context.Context, dir handler.Writer) error {
		if err := h.first("Commit"); err != nil {
			return err
		}
		for _, l := range leaves {
			if err := dir.Put(ctx, noteFile(l.Name()), []byte(l.Value.Text)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (h notes) Deserialize(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[noteInfo]) ([]note, error) {
	if err := h.first("Deserialize"); err != nil {
		return nil, err
	}
	var out []note
	for _, l := range leaves {
		b, err := dir.ReadFile(ctx, noteFile(l.Name()))
		if err != nil {
			return nil, err
		}
		if l.Abstract != nil {
			if l.Abstract.Bytes > len(b) {
				return nil, &errs.Error{Kind: errs.Mismatch, Subject: l.Name(), Want: strconv.Itoa(l.Abstract.Bytes) + " bytes",
					Got: strconv.Itoa(len(b))}
			}
			b = b[:l.Abstract.Bytes]
		}
		out = append(out, note{string(b)})
	}
	return out, nil
}

func (h notes) Metadata(ctx context.Context, dir handler.Reader,
	leaves []handler.Wanted[noteInfo]) ([]noteInfo, error) {
	if err := h.first("Metadata"); err != nil {
		return nil, err
	}
	var out []noteInfo
	for _, l := range leaves {
		f, err := dir.Open(ctx, noteFile(l.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, noteInfo{int(f.Size())})
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (h notes) Finalize(ctx context.Context, dir handler.Writer) error { return h.first("Finalize") }

// withNotes are options with a handler of notes.
func withNotes(h notes) options.Options {
	leaves := &handler.LeafRegistry{}
	if err := leaves.Add(handler.Leaf(h), false); err != nil {
		panic(err) // of a constant
	}
	return options.Options{PyTree: options.PyTree{LeafHandlers: leaves}}
}
