package mds

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"

	"github.com/bivouac-ml/bivouac/errs"
)

// TableSize returns the bytes at the start of a shard that say where its samples are.
func TableSize(samples int64) int64 { return 4 * (samples + 2) }

// Table says where the samples of a shard are: sample i is from element i to element i+1.
type Table []uint32

// ParseTable reads the table of a shard of size bytes. b is its first TableSize bytes. Fails with
// errs.Corrupt for a table that contradicts the index, its own size, or the size of the shard.
func ParseTable(b []byte, samples, size int64) (Table, error) {
	corrupt := func(want, got any) error {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprint(want), Got: fmt.Sprint(got),
			Remedy: "the shard is damaged, or belongs to another index.json"}
	}
	if int64(len(b)) < TableSize(0) || int64(len(b)) != TableSize(samples) {
		return nil, corrupt(fmt.Sprintf("a table of %d samples in %d bytes", samples, TableSize(samples)),
			fmt.Sprintf("%d bytes", len(b)))
	}
	le := binary.LittleEndian
	if n := le.Uint32(b); int64(n) != samples {
		return nil, corrupt(fmt.Sprintf("%d samples, as the index says", samples), n)
	}
	t := make(Table, samples+1)
	last := TableSize(samples)
	for i := range t {
		t[i] = le.Uint32(b[4+4*i:])
		if at := int64(t[i]); at < last || at > size {
			return nil, corrupt(fmt.Sprintf("sample %d from byte %d to %d", i, last, size), at)
		}
		last = int64(t[i])
	}
	if last != size {
		return nil, corrupt(fmt.Sprintf("samples up to the end of %d bytes", size), fmt.Sprintf("an end at %d", last))
	}
	return t, nil
}

// Split appends the data of the columns of a sample to dst. Fails with errs.Corrupt if their sizes
// do not add up to the sample.
func Split(dst [][]byte, sample []byte, columns []Column) ([][]byte, error) {
	head := 0
	for i := range columns {
		if columns[i].Size() < 0 {
			head += 4
		}
	}
	corrupt := func(want, got int64) error {
		return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("a sample of %d bytes, as its columns say", want),
			Got: fmt.Sprintf("%d bytes", got)}
	}
	if len(sample) < head {
		return nil, corrupt(int64(head), int64(len(sample)))
	}
	sizes, rest := sample[:head], sample[head:]
	for i := range columns {
		n := int64(columns[i].Size())
		if n < 0 {
			n, sizes = int64(binary.LittleEndian.Uint32(sizes)), sizes[4:]
		}
		if n > int64(len(rest)) {
			return nil, errs.Wrap("", fmt.Sprintf("column %q", columns[i].Name),
				corrupt(int64(len(sample)-len(rest))+n, int64(len(sample))))
		}
		dst, rest = append(dst, rest[:n:n]), rest[n:]
	}
	if len(rest) > 0 {
		return nil, corrupt(int64(len(sample)-len(rest)), int64(len(sample)))
	}
	return dst, nil
}

// AppendSample appends a sample of the encoded data of its columns.
func AppendSample(dst []byte, columns []Column, data [][]byte) []byte {
	for i := range columns {
		if columns[i].Size() < 0 {
			dst = binary.LittleEndian.AppendUint32(dst, uint32(len(data[i])))
		}
	}
	for _, d := range data {
		dst = append(dst, d...)
	}
	return dst
}

// AppendShard appends a shard of samples, which AppendSample made. Fails with errs.Exhausted for a
// shard of more than 4 GiB.
func AppendShard(dst []byte, columns []Column, samples [][]byte) ([]byte, error) {
	config, err := json.Marshal(configuration(columns))
	if err != nil {
		return nil, err
	}
	at := TableSize(int64(len(samples))) + int64(len(config))
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(samples)))
	for i := range len(samples) + 1 {
		if at > math.MaxUint32 {
			return nil, &errs.Error{Kind: errs.Exhausted, Op: "mds.AppendShard", Want: "at most 4 GiB", Got: "more"}
		}
		dst = binary.LittleEndian.AppendUint32(dst, uint32(at))
		if i < len(samples) {
			at += int64(len(samples[i]))
		}
	}
	dst = append(dst, config...)
	for _, s := range samples {
		dst = append(dst, s...)
	}
	return dst, nil
}
