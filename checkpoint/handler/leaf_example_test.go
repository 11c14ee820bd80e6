package handler_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/handler"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// Vocabulary is a leaf of a type of its own.
type Vocabulary struct{ words []string }

// VocabularySize describes a vocabulary. A load that asks for it asks for that number of words.
type VocabularySize struct{ Words int }

// Vocabularies keeps each in a text file of its name, so that leaves can also be
// added to a checkpoint later.
type Vocabularies struct{}

func (Vocabularies) file(leaf string) string { return "vocabularies/" + leaf + ".txt" }

func (Vocabularies) TypeString() string { return "example.Vocabulary" }

// Serialize joins the words before it returns: vocabularies may change then.
func (h Vocabularies) Serialize(_ context.Context, leaves []handler.Saved[Vocabulary]) (handler.Commit, error) {
	texts := map[string]string{}
	for _, l := range leaves {
		texts[h.file(l.Name())] = strings.Join(l.Value.words, "\n")
	}
	return func(ctx context.Context, dir handler.Writer) error {
		for name, text := range texts {
			if err := dir.Put(ctx, name, []byte(text)); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (h Vocabularies) Deserialize(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[VocabularySize]) ([]Vocabulary, error) {
	out := make([]Vocabulary, len(leaves))
	for i, l := range leaves {
		text, err := dir.ReadFile(ctx, h.file(l.Name()))
		if err != nil {
			return nil, err
		}
		words := strings.Split(string(text), "\n")
		if l.Abstract != nil { // nil is as it was saved
			if l.Abstract.Words > len(words) {
				return nil, &errs.Error{Kind: errs.Mismatch, Subject: l.Name(), Want: fmt.Sprint(l.Abstract.Words, " words"), Got: fmt.Sprint(len(words))}
			}
			words = words[:l.Abstract.Words]
		}
		out[i] = Vocabulary{words}
	}
	return out, nil
}

func (h Vocabularies) Metadata(ctx context.Context, dir handler.Reader, leaves []handler.Wanted[VocabularySize]) ([]VocabularySize, error) {
	all, err := h.Deserialize(ctx, dir, leaves)
	out := make([]VocabularySize, len(all))
	for i, v := range all {
		out[i].Words = len(v.words)
	}
	return out, err
}

// Finalize has nothing left to do.
func (Vocabularies) Finalize(context.Context, handler.Writer) error { return nil }

func ExampleLeafHandler() {
	dir, err := os.MkdirTemp("", "leaf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	path := filepath.Join(dir, "ckpt")

	leaves := &handler.LeafRegistry{}
	if err := leaves.Add(handler.Leaf(Vocabularies{}), false); err != nil {
		fmt.Println(err)
		return
	}
	ctx := options.With(context.Background(), checkpoint.Options{PyTree: options.PyTree{LeafHandlers: leaves}})

	model := map[string]any{"w": []float32{1, 2}, "source": Vocabulary{[]string{"a", "b", "c"}}, "target": Vocabulary{[]string{"x"}}}
	if err := checkpoint.Save(ctx, path, model, nil); err != nil {
		fmt.Println(err)
		return
	}

	info, err := checkpoint.Metadata(ctx, path, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range info.Items[0].Leaves {
		fmt.Println(l.Param, l.ValueType, l.Abstract)
	}

	loaded, err := checkpoint.Load(ctx, path, &checkpoint.LoadOptions{
		Abstract: map[string]any{"w": checkpoint.Placeholder{}, "source": VocabularySize{2}, "target": nil},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(loaded.Get("source").Value, loaded.Get("target").Value)

	_, err = checkpoint.Load(context.Background(), path, nil)
	fmt.Println("without the handler:", errors.Is(err, errs.Unsupported))
	// Output:
	// source example.Vocabulary {3}
	// target example.Vocabulary {1}
	// w np.ndarray <nil>
	// {[a b]} {[x]}
	// without the handler: true
}
