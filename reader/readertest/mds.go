package readertest

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/format/mds"
	"github.com/bivouac-ml/bivouac/op"
)

// MDS makes a data set of n samples in dir: a number and a text that grows with it, in shards of 7
// samples with hashes.
func MDS(dir string, n int) (name string, args op.Args, err error) {
	texts := make([][]byte, n)
	for i := range texts {
		texts[i] = fmt.Appendf(nil, "sample %d, %0*d", i, 1+i%50, i)
	}
	return "readers.mds", op.Args{"paths": []string{dir}}, MDSOf(dir, 7, texts)
}

// MDSOf makes a data set of texts with their numbers in dir.
func MDSOf(dir string, perShard int, texts [][]byte) error {
	columns := make([]mds.Column, 2)
	for i, pair := range [][2]string{{"id", "int"}, {"text", "bytes"}} {
		c, err := mds.ParseColumn(pair[0], pair[1])
		if err != nil {
			return err
		}
		columns[i] = c
	}
	x := &mds.Index{}
	for first := 0; first < len(texts); first += perShard {
		var samples [][]byte
		for i := first; i < min(first+perShard, len(texts)); i++ {
			samples = append(samples, mds.AppendSample(nil, columns,
				[][]byte{binary.LittleEndian.AppendUint64(nil, uint64(i)), texts[i]}))
		}
		b, err := mds.AppendShard(nil, columns, samples)
		if err != nil {
			return err
		}
		sum := sha1.Sum(b)
		f := mds.File{Name: fmt.Sprintf("shard.%05d.mds", len(x.Shards)), Bytes: int64(len(b)),
			Hashes: map[string]string{"sha1": hex.EncodeToString(sum[:])}}
		x.Shards = append(x.Shards, mds.Shard{Samples: int64(len(samples)), Columns: columns, Raw: f})
		if err := os.WriteFile(filepath.Join(dir, f.Name), b, 0o666); err != nil {
			return err
		}
	}
	b, err := mds.FormatIndex(x)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, mds.IndexName), b, 0o666)
}
