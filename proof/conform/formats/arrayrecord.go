package formats

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/format/arrayrecord"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/proof/conform/suite"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

// arrayRecordFamily compares ArrayRecord files, which all have the same records, except the
// empty one.
func arrayRecordFamily(top *suite.Object) func(context.Context, *suite.Report, *suite.Object, []byte) {
	want := top.Strings("payload_sha256")
	top.Str("records_rule") // in words
	return func(ctx context.Context, r *suite.Report, o *suite.Object, content []byte) {
		want := want
		o.Str("options")
		if o.Has("error") {
			if f, err := arrayrecord.Open(bytes.NewReader(content), int64(len(content))); err == nil {
				r.Fail("read %d records, want it refused: %v", f.Records, o.Get("error"))
			}
			return
		}
		records := o.Integer("num_records")
		if records == 0 {
			want = nil
		}
		if o.Has("same") && !o.Boolean("same") {
			r.Fail("the library read other records than it wrote")
		}
		f, err := arrayrecord.Open(bytes.NewReader(content), int64(len(content)))
		if err != nil {
			r.Fail("%v", err)
			return
		}
		if f.Records != records || int64(len(want)) != records {
			r.Fail("%d records, want %d", f.Records, records)
		}
		if text := o.Str("writer_options_string"); f.Options != text {
			r.Fail("options %q, want %q", f.Options, text)
		}
		if records == 0 {
			return
		}
		err = withFile(content, ".array_record", func(path string) error {
			data, err := readertest.Open(ctx, "readers.array_record", op.Args{"paths": []string{path}})
			if err != nil {
				return err
			}
			defer data.Close()
			var got []string
			for id := range data.Info().Samples {
				v, err := data.Values(ctx, id)
				if err != nil {
					return err
				}
				sum := sha256.Sum256(v[0][0].Data)
				got = append(got, hex.EncodeToString(sum[:]))
			}
			if !slices.Equal(got, want) {
				r.Fail("records %v, want %v", got, want)
			}
			return nil
		})
		if err != nil {
			r.Fail("%v", err)
		}
	}
}

// withFile calls f with the path of a temporary file that has content.
func withFile(content []byte, ending string, f func(path string) error) error {
	dir, err := os.MkdirTemp("", "conform")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "file"+ending)
	if err := os.WriteFile(path, content, 0o666); err != nil {
		return err
	}
	return f(path)
}
