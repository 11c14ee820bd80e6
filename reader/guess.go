package reader

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/shards"
	"github.com/bivouac-ml/bivouac/reader/unpack"
)

// mostHead bounds the bytes that are read of the first record of a data set to find its fields.
const mostHead = 1 << 20

// mostArchive bounds the bytes of a compressed archive that are decompressed to find the components
// of its first sample.
const mostArchive = 16 << 20

// jsonArgs returns arguments for lines of JSON: the members of the first record that are texts,
// numbers, bools, or lists of numbers.
func jsonArgs(paths []string) op.Args {
	args := op.Args{}
	head, err := headOf(context.Background(), paths[0], mostHead)
	if err != nil {
		return args // the reader says it
	}
	line, _, _ := bytes.Cut(head, []byte{'\n'})
	if names := jsonFieldsOf(line); len(names) > 0 {
		args["fields"] = names
	}
	return args
}

// jsonFieldsOf returns the names of the members of an object, in their order.
func jsonFieldsOf(line []byte) (names []string) {
	d := json.NewDecoder(strings.NewReader(string(line)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return names
		}
		var value json.RawMessage
		if d.Decode(&value) != nil || len(value) == 0 {
			return names
		}
		plain := value[0] != '{' && value[0] != 'n'
		if value[0] == '[' {
			var list []float64
			plain = json.Unmarshal(value, &list) == nil
		}
		if text, ok := name.(string); ok && plain && !slices.Contains(names, text) {
			names = append(names, strings.ReplaceAll(text, ".", `\.`))
		}
	}
	return names
}

// tarArgs returns arguments for archives of samples: the components of the first sample.
func tarArgs(paths []string) op.Args {
	args := op.Args{}
	ctx := context.Background()
	set, err := shards.Open(ctx, "reader.Detect", paths[:1])
	if err != nil {
		return args // the reader says it
	}
	defer set.Close() //nolint:errcheck // nothing was written
	var file io.Reader = set.Reader(ctx, 0)
	if kind, err := unpack.Detect(ctx, set, 0); err != nil {
		return args // likewise
	} else if kind != seekable.None {
		head, err := headOf(ctx, paths[0], mostArchive)
		if err != nil {
			return args // likewise
		}
		file = bytes.NewReader(head)
	}
	var list []string
	key := ""
	for r := tar.NewReader(file); len(list) < 256; {
		h, err := r.Next()
		if err != nil {
			break
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		dir, base := path.Split(h.Name)
		stem, ext, ok := strings.Cut(base, ".")
		if !ok {
			continue
		}
		if key == "" {
			key = dir + stem
		}
		if dir+stem != key {
			break
		}
		list = append(list, ext)
	}
	if len(list) > 0 {
		args["ext"] = list
	}
	return args
}
