package loader

import (
	"fmt"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// Packed is a batch of token sequences in the form that trainers take. All tensors have the shape
// [rows, length].
type Packed struct {
	// Tokens are the tokens of the samples of a row, one sample after the other, and then padding.
	Tokens tensor.Tensor `json:"tokens"`
	// SegmentIDs, of type int32, tell the samples of a row apart: the tokens of the first sample have
	// 1, the tokens of the second 2, and so on. Padding has 0. Attention stays within a segment.
	SegmentIDs tensor.Tensor `json:"segment_ids"`
	// Positions, of type int32, count the tokens of each sample from 0. Padding has 0.
	Positions tensor.Tensor `json:"positions"`
	// LossMask, of type float32, says how much the loss of each token counts: 1, and 0 for padding.
	LossMask tensor.Tensor `json:"loss_mask"`
}

// PackTokens returns an Options.CollatePacks that makes one row from each pack. A row has capacity
// tokens and is filled up with pad. capacity is the Capacity of the order.Packs. The error is of
// kind errs.Invalid if the samples of a pack have more tokens than that. A sample longer than the
// capacity has a pack of its own, and its data set must cut it.
func PackTokens[T tensor.Element](capacity int, pad T) func(packs [][][]T) (Packed, error) {
	return func(packs [][][]T) (Packed, error) {
		rows := newRows(len(packs), capacity, pad)
		for i, samples := range packs {
			at := 0
			for k, tokens := range samples {
				if len(tokens) > capacity-at {
					return Packed{}, &errs.Error{Kind: errs.Invalid, Op: "loader.PackTokens",
						Subject: fmt.Sprintf("sample %d of pack %d", k, i),
						Want:    fmt.Sprintf("at most %d tokens (the rest of a capacity of %d)", capacity-at, capacity), Got: fmt.Sprint(len(tokens)),
						Remedy: "cut longer samples in the data set, and give order.NewPacks the lengths that it returns"}
				}
				rows.put(i, at, int32(k+1), tokens)
				at += len(tokens)
			}
		}
		return rows.batch(), nil
	}
}

// PadTokens returns an Options.Collate that makes one row from each sample. A row is as long as the
// longest sample of the batch and is filled up with pad.
func PadTokens[T tensor.Element](pad T) func(samples [][]T) (Packed, error) {
	return func(samples [][]T) (Packed, error) {
		longest := 0
		for _, tokens := range samples {
			longest = max(longest, len(tokens))
		}
		rows := newRows(len(samples), longest, pad)
		for i, tokens := range samples {
			rows.put(i, 0, 1, tokens)
		}
		return rows.batch(), nil
	}
}

// rows is a Packed under construction.
type rows[T tensor.Element] struct {
	n, length           int
	tokens              []T
	segments, positions []int32
	mask                []float32
}

func newRows[T tensor.Element](n, length int, pad T) *rows[T] {
	r := &rows[T]{n: n, length: length, tokens: make([]T, n*length), segments: make([]int32, n*length),
		positions: make([]int32, n*length), mask: make([]float32, n*length)}
	for i := range r.tokens {
		r.tokens[i] = pad
	}
	return r
}

// put writes the tokens of a sample into a row.
func (r *rows[T]) put(row, at int, segment int32, tokens []T) {
	at += row * r.length
	copy(r.tokens[at:], tokens)
	for i := range tokens {
		r.segments[at+i], r.positions[at+i], r.mask[at+i] = segment, int32(i), 1
	}
}

func (r *rows[T]) batch() Packed {
	return Packed{tensor.FromSlice(r.tokens, r.n, r.length), tensor.FromSlice(r.segments, r.n, r.length),
		tensor.FromSlice(r.positions, r.n, r.length), tensor.FromSlice(r.mask, r.n, r.length)}
}
