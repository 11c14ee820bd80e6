package reader

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/lines"
	"github.com/bivouac-ml/bivouac/format/lmdb"
	"github.com/bivouac-ml/bivouac/format/recordio"
	"github.com/bivouac-ml/bivouac/format/seekable"
	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/reader/datafs"
	"github.com/bivouac-ml/bivouac/reader/index"
	"github.com/bivouac-ml/bivouac/reader/shards"
)

// Format tells by which names and first bytes the files of a reader are known. All formats are in
// one list: Detect chooses a reader from it, and DetectRecords a format that can be indexed.
type Format struct {
	Name     string   // such as "tfrecord"; "" stands for the name of the reader without "readers."
	Reader   string   // full name, such as "readers.tfrecord"
	Suffixes []string // usual ends of names in lower case, such as ".tfrecord"
	// Detect reports whether the content may be of the format. head is the first 4 KiB of the file,
	// or all of it, decompressed. nil: only the name tells.
	Detect func(name string, head []byte) bool
	// Args returns arguments of the reader for files, besides the files themselves: they are the
	// argument paths, path or files, if the reader takes one of them. nil: no others.
	Args func(paths []string) op.Args
	// Import is the package that registers the reader, if no other package imports it.
	Import string
	// Records finds the records of a file, if bivouac index can make an index of the format.
	Records *index.Format
}

// RegisterFormat makes the files of a reader known to Detect. It replaces a format of the same
// name.
func RegisterFormat(f Format) {
	registry.Lock()
	defer registry.Unlock()
	registry.formats = append([]Format{f.named()}, registry.formats...)
}

// named returns the format with its name.
func (f Format) named() Format {
	if f.Name == "" {
		f.Name = strings.TrimPrefix(f.Reader, "readers.")
	}
	return f
}

// formatList returns the known formats, each once. Those that were registered last come first.
func formatList() []Format {
	registry.RLock()
	defer registry.RUnlock()
	var list []Format
	for _, f := range slices.Concat(registry.formats, known()) {
		if f = f.named(); !slices.ContainsFunc(list, func(o Format) bool { return o.Name == f.Name }) {
			list = append(list, f)
		}
	}
	return list
}

// recordFormats returns the formats that bivouac index can make an index of, sorted by name.
func recordFormats() []index.Format {
	var list []index.Format
	for _, f := range formatList() {
		if f.Records != nil {
			list = append(list, *f.Records)
		}
	}
	slices.SortFunc(list, func(a, b index.Format) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// RecordFormat returns the format with the given name that can be indexed. Fails with errs.NotFound
// if no format has it.
func RecordFormat(name string) (index.Format, error) {
	var names []string
	for _, f := range recordFormats() {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return index.Format{}, &errs.Error{Kind: errs.NotFound, Op: "index", Subject: "format " + name,
		Want: "one of " + strings.Join(names, ", "), Got: "another", Remedy: errs.DidYouMean(name, names)}
}

// headSize is how much of a file tells its format.
const headSize = 4096

// DetectRecords returns the format of file i of a set whose records can be indexed. Unlike Detect
// it reads each file: the first bytes count more than the name. Fails with errs.Unsupported if the
// file is of no such format. op begins the errors.
func DetectRecords(ctx context.Context, op string, set *shards.Set, i int) (index.Format, error) {
	head, _, err := index.Head(ctx, set, i, headSize)
	if err != nil {
		return index.Format{}, errs.Wrap(op, "", err)
	}
	all := slices.DeleteFunc(formatList(), func(f Format) bool { return f.Records == nil })
	slices.SortFunc(all, func(a, b Format) int { return cmp.Compare(a.Name, b.Name) })
	path := set.Path(i)
	if f, ok := byContent(all, path, head); ok {
		return *f.Records, nil
	}
	if list := byName(all, path); len(list) > 0 {
		return *list[0].Records, nil
	}
	var names []string
	for _, f := range all {
		names = append(names, f.Name)
	}
	return index.Format{}, &errs.Error{Kind: errs.Unsupported, Op: op, Subject: path,
		Want: "a file of the format " + strings.Join(names, " or "),
		Got:  fmt.Sprintf("a file that begins with %q", head[:min(len(head), 8)])}
}

// byContent returns the first format whose files begin with head.
func byContent(list []Format, path string, head []byte) (Format, bool) {
	name := strings.ToLower(filepath.Base(seekable.Plain(datafs.Name(path))))
	for _, f := range list {
		if f.Detect != nil && f.Detect(name, head) {
			return f, true
		}
	}
	return Format{}, false
}

// byName returns the formats whose files have such a name. An end that says how the file is
// compressed does not count.
func byName(list []Format, path string) (found []Format) {
	for _, f := range list {
		if hasSuffix(path, f.Suffixes...) || hasSuffix(seekable.Plain(path), f.Suffixes...) {
			found = append(found, f)
		}
	}
	return found
}

// formatOf finds the format of a file by its name, and if several have the name or none by its
// first bytes.
func formatOf(ctx context.Context, path string) (Format, bool, error) {
	all := formatList()
	named := byName(all, path)
	if len(named) == 1 {
		return named[0], true, nil
	}
	head, err := headOf(ctx, path, headSize)
	if err != nil {
		return Format{}, false, err
	}
	if len(named) > 0 {
		all = named
	}
	f, ok := byContent(all, path, head)
	if !ok && len(named) > 0 {
		return named[0], true, nil
	}
	return f, ok, nil
}

// headOf returns the first n bytes of a file, or all of it, decompressed.
func headOf(ctx context.Context, path string, n int64) ([]byte, error) {
	set, err := shards.Open(ctx, "reader.Detect", []string{path})
	if err != nil {
		return nil, err
	}
	head, _, err := index.Head(ctx, set, 0, n)
	return head, errors.Join(errs.Wrap("reader.Detect", "", err), set.Close())
}

// NamedLikeData reports whether the name of a file is a usual name of a known format.
func NamedLikeData(path string) bool {
	return datafs.Base(path) == "index.json" || len(byName(formatList(), path)) > 0
}

// startsWith returns a Detect for formats with a magic number.
func startsWith(magic string) func(string, []byte) bool {
	return func(_ string, head []byte) bool { return strings.HasPrefix(string(head), magic) }
}

const optIn = "github.com/bivouac-ml/bivouac/reader/"

// known returns the formats by their usual names.
func known() []Format {
	tsv := csvFormat(lines.Dialect{Delimiter: '\t', Quote: '"'})
	return []Format{
		{Reader: "readers.tfrecord", Suffixes: []string{".tfrecord", ".tfrecords", ".tfrec"},
			Detect: func(_ string, head []byte) bool { return tfrecord.Detect(head) }, Records: records(tfrecordFormat)},
		{Reader: "readers.webdataset", Suffixes: []string{".tar"}, Detect: isTar, Args: tarArgs,
			Records: records(WebdatasetFormat)},
		{Reader: "readers.parquet", Suffixes: []string{".parquet"}, Detect: startsWith("PAR1"), Import: optIn + "parquet"},
		{Reader: "readers.arrow", Suffixes: []string{".arrow", ".feather"}, Detect: startsWith("ARROW1"),
			Import: optIn + "arrow"},
		{Reader: "readers.mds", Suffixes: []string{".mds"}},
		{Reader: "readers.array_record", Suffixes: []string{".array_record", ".arrayrecord"}},
		{Name: "recordio", Reader: "readers.mxnet", Suffixes: []string{".rec"},
			Detect: func(_ string, head []byte) bool { return recordio.Detect(head) }, Records: records(recordioFormat)},
		{Name: "lmdb", Reader: "readers.caffe", Suffixes: []string{".mdb"},
			Detect: func(_ string, head []byte) bool { return lmdb.Detect(head) }, Records: records(lmdbFormat)},
		{Reader: "readers.jsonl", Suffixes: []string{".jsonl", ".ndjson", ".jsonlines"}, Detect: isJSONL, Args: jsonArgs,
			Records: records(JSONLFormat)},
		{Reader: "readers.csv", Suffixes: []string{".csv"}, Detect: textNamed(".csv"), Records: records(CSVFormat)},
		{Name: "tsv", Reader: "readers.csv", Suffixes: []string{".tsv"}, Detect: textNamed(".tsv"), Records: records(tsv)},
		{Reader: "readers.tokens", Suffixes: []string{".bin", ".tokens"}},
		{Reader: "readers.numpy", Suffixes: []string{".npy"}, Detect: startsWith("\x93NUMPY")},
		{Reader: "readers.npz", Suffixes: []string{".npz"}},
		{Reader: litdataName}, // its folders are known by their index.json
		{Reader: folderName},  // likewise by their layout
		{Reader: "readers.sequence", Import: optIn + "frames"}, // readers.file reads such folders too
		{Reader: "readers.safetensors", Suffixes: []string{".safetensors"}},
		{Reader: fileName, Suffixes: []string{".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm",
			".wav", ".flac", ".ogg"}},
	}
}

// isTar reports whether a file is a tar archive.
func isTar(name string, head []byte) bool {
	return strings.HasSuffix(name, ".tar") || len(head) > 262 && string(head[257:262]) == "ustar"
}

// isJSONL reports whether a file begins with a line that is an object, and a second one if there is
// a second line.
func isJSONL(_ string, head []byte) bool {
	line, rest, ended := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte{'\n'})
	if !bytes.HasPrefix(line, []byte("{")) {
		return false
	}
	if _, _, err := lines.Members(line); err != nil {
		return !ended && bytes.HasPrefix(line, []byte(`{"`)) && len(head) >= headSize // a line that is longer than the head
	}
	return len(rest) == 0 || bytes.HasPrefix(bytes.TrimLeft(rest, " \t\r\n"), []byte("{"))
}

// textNamed returns a Detect for text with a name: text does not tell that it is CSV.
func textNamed(suffix string) func(string, []byte) bool {
	return func(name string, head []byte) bool {
		return hasSuffix(name, suffix) && utf8.Valid(head[:max(0, len(head)-utf8.UTFMax)]) && !bytes.Contains(head, []byte{0})
	}
}

// records returns a pointer to a copy of a format.
func records(f index.Format) *index.Format { return &f }
