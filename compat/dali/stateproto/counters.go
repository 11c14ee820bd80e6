package stateproto

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// Progress is what pipeline_data says: how far the consumer has come. A pipeline
// is reset after an external source has ended, and never where it has none.
type Progress struct {
	Iter     int64 `json:"iter"`      // batches since the pipeline was last reset
	EpochIdx int64 `json:"epoch_idx"` // how many times it was
}

// Iterator is what iterator_data says of a framework's iterator. The slices,
// which have one entry a pipeline, are nil where it has no reader.
type Iterator struct {
	Counter         int64   `json:"_counter"` // samples since the start of the epoch, of all pipelines
	CounterPerGPU   []int64 `json:"_counter_per_gpu"`
	ShardSizePerGPU []int64 `json:"_shard_sizes_per_gpu"`
	ShardsID        []int64 `json:"_shards_id"`
	Size            int64   `json:"_size"` // of an epoch; negative: until the source ends
}

// ParseProgress reads pipeline_data. Other keys, and what is no JSON, are errors of
// kind errs.Corrupt.
func ParseProgress(b []byte) (Progress, error) {
	var p Progress
	err := parseJSON("stateproto.ParseProgress", b, &p)
	return p, err
}

// Append appends pipeline_data as Python writes it:
//
//	{"iter": 2, "epoch_idx": 0}
func (p Progress) Append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"iter": `...), p.Iter, 10)
	dst = strconv.AppendInt(append(dst, `, "epoch_idx": `...), p.EpochIdx, 10)
	return append(dst, '}')
}

// ParseIterator reads iterator_data, which is not empty. Other keys, and what is no
// JSON, are errors of kind errs.Corrupt.
func ParseIterator(b []byte) (Iterator, error) {
	var i Iterator
	err := parseJSON("stateproto.ParseIterator", b, &i)
	return i, err
}

// Append appends iterator_data as Python writes it:
//
//	{"_counter": 8, "_counter_per_gpu": [0], "_shard_sizes_per_gpu": [7], "_shards_id": [0], "_size": 8}
func (i Iterator) Append(dst []byte) []byte {
	dst = strconv.AppendInt(append(dst, `{"_counter": `...), i.Counter, 10)
	dst = appendList(dst, "_counter_per_gpu", i.CounterPerGPU)
	dst = appendList(dst, "_shard_sizes_per_gpu", i.ShardSizePerGPU)
	dst = appendList(dst, "_shards_id", i.ShardsID)
	dst = strconv.AppendInt(append(dst, `, "_size": `...), i.Size, 10)
	return append(dst, '}')
}

// appendList appends a key and its list, unless that is nil.
func appendList(dst []byte, key string, list []int64) []byte {
	if list == nil {
		return dst
	}
	dst = append(append(append(dst, `, "`...), key...), `": [`...)
	for i, v := range list {
		if i > 0 {
			dst = append(dst, `, `...)
		}
		dst = strconv.AppendInt(dst, v, 10)
	}
	return append(dst, ']')
}

// parseJSON reads one object into v.
func parseJSON(op string, b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.InputOffset() == int64(len(b)) {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Op: op, Want: "one JSON object",
		Got: strconv.Quote(string(b[:min(len(b), 80)])), Err: err}
}
