// Package recording reads and writes the records of a training job: one JSON line a step in one
// file a process. docs/format/record.md is its specification. Package record and the Python client
// write these files; `bivouac crashtest` reads them.
package recording

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// Variable names the environment variable with the directory of the records.
const Variable = "BIVOUAC_RECORD"

// Version is the version of the format.
const Version = 1

// Header is the first line of a file.
type Header struct {
	Format  string `json:"format"` // "bivouac.record"
	Version int    `json:"version"`
	PID     int    `json:"pid"`
	Rank    int    `json:"rank"`
}

// Format is the value of Header.Format.
const Format = "bivouac.record"

// Line is every further line: a step, or the step after which the process resumed.
type Line struct {
	Step    *int64   `json:"step,omitempty"`
	Epoch   int64    `json:"epoch,omitempty"`
	Count   int      `json:"n,omitempty"`
	IDs     string   `json:"ids,omitempty"`     // see EncodeIDs
	Loss    []string `json:"loss,omitempty"`    // see EncodeLoss
	Weights string   `json:"weights,omitempty"` // digest of the weights
	Resumed *int64   `json:"resumed,omitempty"`
}

// Append appends l and a line end to b.
func Append(b []byte, l any) ([]byte, error) {
	text, err := json.Marshal(l)
	if err != nil {
		return b, err
	}
	return append(append(b, text...), '\n'), nil
}

// EncodeIDs returns ids as text: the differences between neighbours, modulo 2^64, as zigzag
// varints in base64. The first id is a difference from 0.
func EncodeIDs(ids []int64) string {
	b := make([]byte, 0, 2*len(ids))
	last := int64(0)
	for _, id := range ids {
		b = binary.AppendVarint(b, id-last) // wraps around, and DecodeIDs wraps back
		last = id
	}
	return base64.StdEncoding.EncodeToString(b)
}

// DecodeIDs returns the n ids of a text of EncodeIDs.
func DecodeIDs(text string, n int) ([]int64, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || n < 0 || n > len(b) {
		return nil, corrupt("ids", fmt.Sprint(n, " varints in base64"), "other text")
	}
	ids := make([]int64, n)
	last := int64(0)
	for i := range ids {
		d, used := binary.Varint(b)
		if used <= 0 {
			return nil, corrupt("ids", fmt.Sprint(n), fmt.Sprint(i))
		}
		last += d
		ids[i], b = last, b[used:]
	}
	if len(b) > 0 {
		return nil, corrupt("ids", fmt.Sprint(n), "more")
	}
	return ids, nil
}

// EncodeLoss returns the bits of a loss in 16 hexadecimal digits. A float32 is widened first, which
// keeps its value.
func EncodeLoss(loss float64) string { return fmt.Sprintf("%016x", math.Float64bits(loss)) }

// DecodeLoss returns the loss of a text of EncodeLoss.
func DecodeLoss(text string) (float64, error) {
	bits, err := strconv.ParseUint(text, 16, 64)
	if err != nil || len(text) != 16 {
		return 0, corrupt("loss", "16 hexadecimal digits", strconv.Quote(text))
	}
	return math.Float64frombits(bits), nil
}

func corrupt(subject, want, got string) error {
	return &errs.Error{Kind: errs.Corrupt, Op: "record", Subject: subject, Want: want, Got: got}
}
