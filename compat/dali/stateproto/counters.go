package stateproto

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// Progress is the content of pipeline_data: how far the consumer has come. A pipeline is reset when
// an external source has ended, and never if it has no external source.
type Progress struct {
	Iter     int64 `json:"iter"`      // batches since the pipeline was last reset
	EpochIdx int64 `json:"epoch_idx"` // how many times it was reset
}

// Iterator is the content of iterator_data, for an iterator of a framework. The slices have one
// entry a pipeline. They are nil if the iterator has no reader.
type Iterator struct {
	Counter         int64   `json:"_counter"` // samples since the start of the epoch, of all pipelines
	CounterPerGPU   []int64 `json:"_counter_per_gpu"`
	ShardSizePerGPU []int64 `json:"_shard_sizes_per_gpu"`
	ShardsID        []int64 `json:"_shards_id"`
	Size            int64   `json:"_size"` // size of an epoch; negative if it lasts until the source ends
}

// ParseProgress reads pipeline_data. The error is of kind errs.Corrupt for other keys and for text
// that is not JSON.
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

// ParseIterator reads iterator_data, which must not be empty. The error is of kind errs.Corrupt for
// other keys and for text that is not JSON.
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

// appendList appends a key and its list, unless the list is nil.
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
