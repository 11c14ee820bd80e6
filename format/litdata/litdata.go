// Package litdata reads the chunks of data sets that litdata writes: a folder with an index.json
// and files chunk-*.bin.
//
// A chunk begins with the number of its samples and with the offsets of the samples, one more than
// samples, all uint32 in little-endian. A sample is the sizes of its leaves, uint32, and then the
// leaves. The samples of token data have no sizes: they are one leaf. index.json says how each leaf
// is written. The format has no checksums.
package litdata

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// IndexName is the name of the index of a folder.
const IndexName = "index.json"

// Index describes a folder.
type Index struct {
	Chunks []Chunk
	Fields []Field
	Tokens bool // the samples are documents of tokens, which are read in blocks
	Zstd   bool // each chunk is a frame of zstd
}

// Chunk is a file of a folder.
type Chunk struct {
	Filename string
	Samples  int64
	Bytes    int64 // decompressed
	Dim      int64 // elements of all samples, of tokens
}

// Field is a leaf of the samples.
type Field struct {
	Name string // path in the sample, such as a.0
	Kind string // such as str or no_header_tensor
	Type int    // number of the dtype of no_header_tensor and no_header_numpy
}

func corrupt(want, got string) *errs.Error {
	return &errs.Error{Kind: errs.Corrupt, Want: want, Got: got}
}

func unsupported(subject, want, got string) *errs.Error {
	return &errs.Error{Kind: errs.Unsupported, Op: "litdata", Subject: subject, Want: want, Got: got}
}

// file is index.json.
type file struct {
	Chunks []struct {
		Bytes    *int64 `json:"chunk_bytes"`
		Samples  *int64 `json:"chunk_size"`
		Dim      *int64 `json:"dim"`
		Filename string `json:"filename"`
	} `json:"chunks"`
	Config *struct {
		Compression *string         `json:"compression"`
		Level       *string         `json:"compression_level"`
		Format      []string        `json:"data_format"`
		Spec        json.RawMessage `json:"data_spec"`
		Encryption  json.RawMessage `json:"encryption"`
		IPC         json.RawMessage `json:"ipc_compression"`
		Loader      string          `json:"item_loader"`
	} `json:"config"`
}

// ParseIndex reads an index.json. Fails with errs.Corrupt if it is no index, and with
// errs.Unsupported for encrypted data, for another compression than zstd of whole chunks, and for
// another loader of items.
func ParseIndex(text []byte) (*Index, error) {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, corrupt("an index of litdata in JSON", err.Error())
	}
	if f.Config == nil || len(f.Config.Format) == 0 {
		return nil, corrupt("config with data_format", "none")
	}
	x := &Index{}
	c := f.Config
	set := func(m json.RawMessage) bool { return len(m) > 0 && string(m) != "null" }
	switch {
	case set(c.Encryption):
		return nil, unsupported("encryption", "data that are not encrypted", string(c.Encryption))
	case set(c.IPC):
		return nil, unsupported("ipc_compression", "none", string(c.IPC))
	case c.Level != nil && *c.Level != "chunk":
		e := unsupported("compression_level", "chunk: each chunk is compressed as a whole", *c.Level)
		e.Remedy = `write the data with compression_level="chunk"`
		return nil, e
	case c.Compression != nil && *c.Compression != "zstd" && !strings.HasPrefix(*c.Compression, "zstd:"):
		return nil, unsupported("compression", "zstd or none", *c.Compression)
	}
	x.Zstd = c.Compression != nil
	switch c.Loader {
	case "", "PyTreeLoader":
	case "TokensLoader":
		x.Tokens = true
	default:
		return nil, unsupported("item_loader", "PyTreeLoader or TokensLoader", c.Loader)
	}
	if err := x.addFields(c.Format, c.Spec); err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(f.Chunks))
	for i, k := range f.Chunks {
		if k.Bytes == nil || k.Samples == nil || *k.Samples < 0 || *k.Bytes < 8 || *k.Bytes > 1<<32 || k.Filename == "" ||
			filepath.Base(k.Filename) != k.Filename || *k.Samples > (*k.Bytes-8)/4 {
			return nil, corrupt(fmt.Sprintf("chunk %d with chunk_bytes, chunk_size and the name of a file in the folder", i),
				fmt.Sprintf("%q", k.Filename))
		}
		if strings.HasSuffix(k.Filename, ".zstd.bin") != x.Zstd {
			return nil, corrupt("names of chunks that end with .zstd.bin if compression is zstd, and only then", k.Filename)
		}
		if seen[k.Filename] {
			return nil, corrupt("each chunk once", k.Filename+" twice")
		}
		seen[k.Filename] = true
		chunk := Chunk{Filename: k.Filename, Samples: *k.Samples, Bytes: *k.Bytes}
		if x.Tokens {
			if k.Dim == nil || *k.Dim < 0 || *k.Dim > *k.Bytes {
				return nil, corrupt(fmt.Sprintf("dim, the number of tokens, of chunk %d", i), "none")
			}
			chunk.Dim = *k.Dim
		}
		x.Chunks = append(x.Chunks, chunk)
	}
	return x, nil
}

// addFields adds the leaves.
func (x *Index) addFields(formats []string, spec json.RawMessage) error {
	names := leafNames(spec)
	if x.Tokens {
		names = []string{"tokens"}
	}
	if len(names) != len(formats) {
		names = nil
		for i := range formats {
			names = append(names, strconv.Itoa(i))
		}
	}
	for i, text := range formats {
		kind, number, has := strings.Cut(text, ":")
		f := Field{Name: names[i], Kind: kind}
		if kind == "no_header_tensor" || kind == "no_header_numpy" {
			var err error
			if f.Type, err = strconv.Atoi(number); !has || err != nil {
				return corrupt("data_format such as no_header_tensor:16", text)
			}
		}
		x.Fields = append(x.Fields, f)
	}
	if x.Tokens && (len(formats) != 1 || !strings.HasPrefix(formats[0], "no_header_")) {
		return corrupt("one leaf of tokens, such as no_header_tensor:16", strings.Join(formats, " "))
	}
	return nil
}

// node is a node of data_spec.
type node struct {
	Type     *string `json:"type"`
	Context  *string `json:"context"`
	Children []node  `json:"children_spec"`
}

// leafNames returns the paths of the leaves in a sample, or nil if data_spec does not tell. A leaf
// without a path is called value.
func leafNames(spec json.RawMessage) []string {
	var text string
	var pair []json.RawMessage
	var root node
	if json.Unmarshal(spec, &text) != nil || json.Unmarshal([]byte(text), &pair) != nil || len(pair) != 2 ||
		json.Unmarshal(pair[1], &root) != nil {
		return nil
	}
	if root.Type == nil {
		return []string{"value"}
	}
	return root.names("", 0, nil)
}

// mostDepth bounds the depth of samples.
const mostDepth = 64

func (n *node) names(path string, depth int, list []string) []string {
	if n.Type == nil || depth > mostDepth {
		return append(list, path)
	}
	var keys []any
	if n.Context != nil {
		json.Unmarshal([]byte(*n.Context), &keys) //nolint:errcheck // without keys the children are numbered
	}
	for i := range n.Children {
		name := strconv.Itoa(i)
		if len(keys) == len(n.Children) {
			name = fmt.Sprint(keys[i])
		}
		if path != "" {
			name = path + "." + name
		}
		list = n.Children[i].names(name, depth+1, list)
	}
	return list
}

// TableSize returns the bytes at the start of a chunk that ParseTable reads.
func TableSize(samples int64) int64 { return 8 + 4*samples }

// Table says where the samples of a chunk begin. It has one place more than samples.
type Table []uint32

// ParseTable reads the places of the samples of a chunk. size is the size of the chunk. Fails with
// errs.Unsupported for a chunk that is a table of Arrow behind its header.
func ParseTable(b []byte, samples, size int64) (Table, error) {
	if int64(len(b)) < TableSize(samples) {
		return nil, corrupt(fmt.Sprintf("a table of %d samples", samples), fmt.Sprintf("%d bytes", len(b)))
	}
	if n := int64(binary.LittleEndian.Uint32(b)); n != samples {
		return nil, corrupt(fmt.Sprintf("a chunk of %d samples, as index.json says", samples), fmt.Sprint(n))
	}
	if places := b[4:TableSize(samples)]; samples > 0 && bytes.Equal(places, bytes.Repeat(places[:4], int(samples)+1)) &&
		int64(binary.LittleEndian.Uint32(places)) == TableSize(samples) && size > TableSize(samples) {
		e := unsupported("", "samples one after the other", "a table of Arrow, as litdata writes samples of plain values")
		e.Remedy = "add a leaf that is an array, or write Parquet or Arrow files"
		return nil, e
	}
	t := make(Table, samples+1)
	at := uint32(TableSize(samples))
	for i := range t {
		t[i] = binary.LittleEndian.Uint32(b[4+4*i:])
		if t[i] < at || int64(t[i]) > size || i == 0 && t[i] != at || i == len(t)-1 && int64(t[i]) != size {
			return nil, corrupt(fmt.Sprintf("samples one after the other up to byte %d", size),
				fmt.Sprintf("sample %d at byte %d", i, t[i]))
		}
		at = t[i]
	}
	return t, nil
}

// Split appends the leaves of a sample to dst. They are parts of sample.
func Split(dst [][]byte, sample []byte, leaves int) ([][]byte, error) {
	if len(sample) < 4*leaves {
		return nil, corrupt(fmt.Sprintf("the sizes of %d leaves", leaves), fmt.Sprintf("%d bytes", len(sample)))
	}
	rest := sample[4*leaves:]
	for i := range leaves {
		n := binary.LittleEndian.Uint32(sample[4*i:])
		if uint64(n) > uint64(len(rest)) {
			return nil, corrupt(fmt.Sprintf("leaf %d within %d bytes", i, len(rest)), fmt.Sprintf("%d bytes", n))
		}
		dst, rest = append(dst, rest[:n:n]), rest[n:]
	}
	if len(rest) > 0 {
		return nil, corrupt("a sample that ends with its last leaf", fmt.Sprintf("%d bytes more", len(rest)))
	}
	return dst, nil
}

// Expand decompresses a chunk of size bytes.
func Expand(raw []byte, size int64) ([]byte, error) {
	b, err := zframe.DecodeFrames(nil, raw, int(size)+1)
	if err != nil {
		return nil, corrupt("a chunk of zstd", err.Error())
	}
	if int64(len(b)) != size {
		return nil, corrupt(fmt.Sprintf("%d bytes, as index.json says", size), fmt.Sprint(len(b)))
	}
	return b, nil
}
