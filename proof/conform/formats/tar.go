package formats

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tarball"
	"github.com/bivouac-ml/bivouac/format/webdataset"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
)

// otherIndexes are the archives whose index differs from the index of wds2idx, which takes offsets
// and names from the messages of GNU tar: "data" where it has the offset of a long name instead of
// the data, "refused" where the archive is damaged.
var otherIndexes = map[string]string{
	"gnu-long.tar":            "data",
	"edge-truncated-data.tar": "refused", "edge-truncated-header.tar": "refused", "edge-bad-checksum.tar": "refused",
}

// compareTar holds an archive against three verdicts: of Python's tarfile, of the package
// webdataset, and of wds2idx.
func compareTar(_ context.Context, r *suite.Report, o *suite.Object, content []byte) {
	if bytes.HasPrefix(content, []byte("\x1f\x8b")) {
		if err := tarball.Scan(bytes.NewReader(content), int64(len(content)), tarball.Options{},
			nil); !errors.Is(err, errs.Unsupported) {
			r.Fail("a compressed archive: got %v, want it refused", err)
		}
		z, err := gzip.NewReader(bytes.NewReader(content))
		if err == nil {
			content, err = io.ReadAll(z)
		}
		if err != nil {
			r.Fail("%v", err)
			return
		}
	}
	compareMembers(r, o, content)
	compareSamples(r, o, content)
	compareIndex(r, o, content)
}

func compareMembers(r *suite.Report, o *suite.Object, content []byte) {
	var got []string
	err := tarball.Scan(bytes.NewReader(content), int64(len(content)), tarball.Options{Lenient: true},
		func(m tarball.Member) error {
			got = append(got, fmt.Sprintf("%q %q %d %d %d", m.Name, string(m.Type), m.Size, m.Header, m.Data))
			return nil
		})
	if o.Has("python_tarfile_error") != (err != nil) {
		r.Fail("python_tarfile: got %v, want %v", err, o.Get("python_tarfile_error"))
	}
	if !o.Has("python_tarfile") {
		return
	}
	var want []string
	for i, v := range o.List("python_tarfile") {
		m := suite.NewObject(r, fmt.Sprintf("python_tarfile[%d].", i), v)
		want = append(want,
			fmt.Sprintf("%q %q %d %d %d", m.Str("name"), m.Str("type"), m.Integer("size"), m.Integer("offset"),
				m.Integer("data_offset")))
		m.Done()
	}
	if !slices.Equal(got, want) {
		r.Fail("python_tarfile: got %v, want %v", got, want)
	}
}

// A sample that webdataset delivers before an error is delivered here too.
func compareSamples(r *suite.Report, o *suite.Object, content []byte) {
	var got []map[string]string
	err := webdataset.Samples(bytes.NewReader(content), int64(len(content)), webdataset.Packaged,
		func(s webdataset.Sample) error {
			m := map[string]string{"__key__": s.Key}
			for _, c := range s.Components {
				m[c.Name] = textOf(content[c.Offset:][:c.Size])
			}
			got = append(got, m)
			return nil
		})
	if o.Has("webdataset_error") != (err != nil) {
		r.Fail("webdataset: got %v, want %v", err, o.Get("webdataset_error"))
	}
	want := o.List("webdataset")
	if len(got) != len(want) {
		r.Fail("webdataset: got %d samples, want %d", len(got), len(want))
		return
	}
	for i, v := range want {
		entry, _ := v.(map[string]any)
		texts := map[string]string{}
		for k, v := range entry {
			switch v := v.(type) {
			case string:
				texts[k] = v
			case map[string]any:
				texts[k] = fmt.Sprint(v["sha256"])
			}
		}
		if !maps.Equal(texts, got[i]) {
			r.Fail("webdataset[%d]: got %v, want %v", i, got[i], texts)
		}
	}
}

// textOf is content as an entry has it: short content in Latin-1, the hash of longer content.
func textOf(b []byte) string {
	if len(b) >= 40 {
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	}
	var s strings.Builder
	for _, c := range b {
		s.WriteRune(rune(c))
	}
	return s.String()
}

func compareIndex(r *suite.Report, o *suite.Object, content []byte) {
	var b bytes.Buffer
	err := webdataset.WriteIndex(&b, bytes.NewReader(content), int64(len(content)))
	other := otherIndexes[o.Str("file")]
	if other == "refused" {
		o.Has("dali_index")
		if !errors.Is(err, errs.Corrupt) {
			r.Fail("index of a damaged archive: got %v, want it refused", err)
		}
		return
	}
	if o.Has("dali_index_error") {
		if err == nil {
			r.Fail("an index, want it refused: %v", o.Get("dali_index_error"))
		}
		return
	}
	if err != nil {
		r.Fail("index: %v", err)
		return
	}
	want := o.Str("dali_index")
	if other == "data" { // behind a header and two blocks of the long name
		want = strings.Replace(strings.Replace(want, " 512 ", " 1536 ", 1), " 2560 ", " 3584 ", 1)
	}
	if b.String() != want {
		r.Fail("index: got %q, want %q", b.String(), want)
	}
	compareReadIndex(r, want, int64(len(content)))
}

// compareReadIndex reads an index of version 1.2 and writes it again, and the same index of version
// 1.1.
func compareReadIndex(r *suite.Report, text string, size int64) {
	var again, old strings.Builder
	head, _, _ := strings.Cut(text, "\n")
	fmt.Fprintln(&again, head)
	fmt.Fprintln(&old, strings.Replace(head, "v1.2", "v1.1", 1))
	err := webdataset.ReadIndex(strings.NewReader(text), size, func(s webdataset.Sample) error {
		var long, short []string
		for _, c := range s.Components {
			short = append(short, fmt.Sprintf("%s %d %d", c.Name, c.Offset, c.Size))
			long = append(long, fmt.Sprintf("%s %d %d %s", c.Name, c.Offset, c.Size, c.File))
		}
		fmt.Fprintln(&again, strings.Join(long, " "))
		fmt.Fprintln(&old, strings.Join(short, " "))
		return nil
	})
	if err != nil || again.String() != text {
		r.Fail("index read and written: got %q, %v, want %q", again.String(), err, text)
	}
	samples := 0
	err = webdataset.ReadIndex(strings.NewReader(old.String()), size,
		func(webdataset.Sample) error { samples++; return nil })
	if err != nil || samples != strings.Count(text, "\n")-1 {
		r.Fail("index of version 1.1: got %d samples, %v, of %q", samples, err, old.String())
	}
}
