package mds

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
)

// IndexName is the name of the file that describes a data set.
const IndexName = "index.json"

// Index describes a data set.
type Index struct {
	Shards []Shard
}

// Shard describes a shard.
type Shard struct {
	Samples int64
	Columns []Column // in the order in which samples have them
	Raw     File     // the shard without compression
	Zip     *File    // the compressed shard, or nil
	// Compression is the algorithm of Zip, without its level: "zstd", or "".
	Compression string
}

// File describes a file of a data set.
type File struct {
	Name   string // relative to the folder of the index, with slashes
	Bytes  int64
	Hashes map[string]string // digests in hexadecimal digits by the name of the algorithm
}

// jsonIndex is index.json as it is written.
type jsonIndex struct {
	Version *int        `json:"version"`
	Shards  []jsonShard `json:"shards"`
}

type jsonShard struct {
	Version     int       `json:"version"`
	Format      string    `json:"format"`
	Names       []string  `json:"column_names"`
	Encodings   []string  `json:"column_encodings"`
	Sizes       []*int64  `json:"column_sizes"`
	Compression *string   `json:"compression"`
	Hashes      []string  `json:"hashes"`
	Samples     int64     `json:"samples"`
	SizeLimit   *int64    `json:"size_limit"`
	Raw         *jsonFile `json:"raw_data"`
	Zip         *jsonFile `json:"zip_data"`
}

type jsonFile struct {
	Name   string            `json:"basename"`
	Bytes  int64             `json:"bytes"`
	Hashes map[string]string `json:"hashes"`
}

// ParseIndex reads index.json. Fails with errs.Corrupt for an index that contradicts itself, and
// with errs.Unsupported for shards of another format or version.
func ParseIndex(b []byte) (*Index, error) {
	var j jsonIndex
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, &errs.Error{Kind: errs.Corrupt, Subject: IndexName, Want: "an index in JSON", Got: err.Error()}
	}
	if j.Version == nil || *j.Version != 2 {
		got := "none"
		if j.Version != nil {
			got = fmt.Sprint(*j.Version)
		}
		return nil, &errs.Error{Kind: errs.Unsupported, Subject: IndexName, Want: "version 2", Got: "version " + got}
	}
	x := &Index{Shards: make([]Shard, len(j.Shards))}
	for i := range j.Shards {
		if err := x.Shards[i].parse(&j.Shards[i]); err != nil {
			return nil, errs.Wrap("", fmt.Sprintf("%s: shard %d", IndexName, i), err)
		}
		// Equal columns share their memory: a data set can have many shards.
		if i > 0 && slices.EqualFunc(x.Shards[i].Columns, x.Shards[i-1].Columns, Column.Equal) {
			x.Shards[i].Columns = x.Shards[i-1].Columns
		}
	}
	return x, nil
}

func (s *Shard) parse(j *jsonShard) error {
	corrupt := func(want, got string) error {
		return &errs.Error{Kind: errs.Corrupt, Want: want, Got: got,
			Remedy: "index.json is damaged; make it again with the data set's writer"}
	}
	switch {
	case j.Format != "mds":
		return &errs.Error{Kind: errs.Unsupported, Want: "a shard of format mds",
			Got: fmt.Sprintf("format %q", j.Format)}
	case j.Version != 2:
		return &errs.Error{Kind: errs.Unsupported, Want: "a shard of version 2", Got: fmt.Sprint(j.Version)}
	case j.Raw == nil:
		return corrupt("raw_data", "none")
	case j.Samples < 0 || j.Samples > j.Raw.Bytes/4:
		return corrupt(fmt.Sprintf("at most %d samples, as the shard has %d bytes", max(0, j.Raw.Bytes/4),
			j.Raw.Bytes), fmt.Sprint(j.Samples))
	case len(j.Names) == 0 || len(j.Encodings) != len(j.Names) || len(j.Sizes) != len(j.Names):
		return corrupt("as many names, encodings and sizes of columns",
			fmt.Sprintf("%d, %d and %d", len(j.Names), len(j.Encodings), len(j.Sizes)))
	}
	s.Samples = j.Samples
	for i, name := range j.Names {
		if slices.Contains(j.Names[:i], name) {
			return corrupt("columns with names of their own", fmt.Sprintf("two columns %q", name))
		}
		c, err := ParseColumn(name, j.Encodings[i])
		if err != nil {
			return err
		}
		size := int64(-1)
		if j.Sizes[i] != nil {
			size = *j.Sizes[i]
		}
		if size != int64(c.Size()) {
			return corrupt(fmt.Sprintf("column %q of encoding %s with %s", name, c.Encoding,
				sizeText(int64(c.Size()))), sizeText(size))
		}
		s.Columns = append(s.Columns, c)
	}
	if err := s.Raw.parse(j.Raw); err != nil {
		return err
	}
	if j.Compression != nil {
		s.Compression, _, _ = strings.Cut(*j.Compression, ":")
		if !slices.Contains(Compressions(), s.Compression) {
			return &errs.Error{Kind: errs.Unsupported, Want: "a compression of " + strings.Join(Compressions(), ", "),
				Got: fmt.Sprintf("%q", *j.Compression)}
		}
	}
	switch {
	case j.Zip != nil && s.Compression == "":
		return corrupt("a compression for zip_data", "none")
	case j.Zip != nil:
		s.Zip = &File{}
		return s.Zip.parse(j.Zip)
	}
	s.Compression = ""
	return nil
}

func sizeText(n int64) string {
	if n < 0 {
		return "no fixed size"
	}
	return fmt.Sprintf("size %d", n)
}

func (f *File) parse(j *jsonFile) error {
	if n := path.Clean(j.Name); j.Name == "" || path.IsAbs(n) || n == ".." || strings.HasPrefix(n, "../") || n == "." {
		return &errs.Error{Kind: errs.Corrupt, Want: "the name of a file below the folder of the index",
			Got: fmt.Sprintf("%q", j.Name)}
	}
	if j.Bytes < 0 {
		return &errs.Error{Kind: errs.Corrupt, Subject: j.Name, Want: "a size", Got: fmt.Sprint(j.Bytes)}
	}
	for name := range j.Hashes {
		if NewHash(name) == nil {
			return &errs.Error{Kind: errs.Unsupported, Subject: j.Name,
				Want: "hashes of " + strings.Join(Hashes(), ", "), Got: fmt.Sprintf("%q", name)}
		}
	}
	*f = File{Name: j.Name, Bytes: j.Bytes, Hashes: j.Hashes}
	return nil
}

// FormatIndex writes an index of uncompressed shards.
func FormatIndex(x *Index) ([]byte, error) {
	version := 2
	j := jsonIndex{Version: &version, Shards: []jsonShard{}}
	for i := range x.Shards {
		s := &x.Shards[i]
		if s.Zip != nil {
			return nil, &errs.Error{Kind: errs.Unsupported, Op: "mds.FormatIndex", Want: "uncompressed shards",
				Got: s.Compression}
		}
		e := configuration(s.Columns)
		for name := range s.Raw.Hashes {
			e.Hashes = append(e.Hashes, name)
		}
		slices.Sort(e.Hashes)
		e.Samples, e.Raw = s.Samples, &jsonFile{Name: s.Raw.Name, Bytes: s.Raw.Bytes, Hashes: s.Raw.Hashes}
		if e.Raw.Hashes == nil {
			e.Raw.Hashes = map[string]string{}
		}
		j.Shards = append(j.Shards, e)
	}
	return json.Marshal(j)
}

// configuration returns the part of the description of a shard that the shard has too.
func configuration(columns []Column) jsonShard {
	e := jsonShard{Version: 2, Format: "mds", Hashes: []string{}}
	for _, c := range columns {
		e.Names, e.Encodings = append(e.Names, c.Name), append(e.Encodings, c.Encoding)
		var size *int64
		if n := int64(c.Size()); n >= 0 {
			size = &n
		}
		e.Sizes = append(e.Sizes, size)
	}
	return e
}
