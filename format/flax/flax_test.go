package flax

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tree"
)

func TestValues(t *testing.T) {
	for in, want := range map[string]any{
		"\x00": int64(0), "\x7f": int64(127), "\xff": int64(-1), "\xe0": int64(-32),
		"\xcc\xff": int64(255), "\xcd\x01\x00": int64(256), "\xce\xff\xff\xff\xff": int64(math.MaxUint32),
		"\xcf\xff\xff\xff\xff\xff\xff\xff\xff": uint64(math.MaxUint64),
		"\xd0\x80":                             int64(-128), "\xd1\xff\x00": int64(-256), "\xd2\x80\x00\x00\x00": int64(math.MinInt32),
		"\xd3\x80\x00\x00\x00\x00\x00\x00\x00": int64(math.MinInt64),
		"\xc0":                                 nil, "\xc2": false, "\xc3": true, "\xca\x3f\x00\x00\x00": 0.5, "\xcb\x3f\xe0\x00\x00\x00\x00\x00\x00": 0.5,
		"\xa2ab": "ab", "\xd9\x01a": "a", "\xda\x00\x01a": "a", "\xdb\x00\x00\x00\x01a": "a",
		"\xc4\x01a": []byte("a"), "\xc5\x00\x01a": []byte("a"), "\xc6\x00\x00\x00\x01a": []byte("a"),
	} {
		got, err := Parse([]byte(in))
		if err != nil {
			t.Errorf("%x: %v", in, err)
		} else if d := cmp.Diff(want, got.Value); d != "" {
			t.Errorf("%x: %s", in, d)
		}
	}
}

func TestContainers(t *testing.T) {
	one := tree.NewLeaf(1)
	for in, want := range map[string]*tree.Node{
		"\x91\x01": tree.NewList(one), "\xdc\x00\x01\x01": tree.NewList(one), "\xdd\x00\x00\x00\x01\x01": tree.NewList(one),
		"\x81\xa1a\x01": tree.NewDict().Set("a", one), "\xde\x00\x01\x05\x01": tree.NewDict().Set("5", one),
		"\xdf\x00\x00\x00\x01\xa1a\x01": tree.NewDict().Set("a", one),
		"\xd5\x04\x91\x01":              {Kind: tree.Tuple, Items: []*tree.Node{one}},
		"\xc7\x02\x04\x91\x01":          {Kind: tree.Tuple, Items: []*tree.Node{one}},
	} {
		got, err := Parse([]byte(in))
		if err != nil || !tree.Equal(want, got) {
			t.Errorf("%x: %v, %v", in, got, err)
		}
	}
}

func TestRefused(t *testing.T) {
	for in, kind := range map[string]errs.Kind{
		"": errs.Corrupt, "\xc1": errs.Corrupt, "\x01\x01": errs.Corrupt, "\xdd\xff\xff\xff\xff": errs.Corrupt, "\xdf\xff\xff\xff\xff": errs.Corrupt,
		"\xa5ab": errs.Corrupt, "\x82\xa1a\x01\xa1a\x01": errs.Corrupt, "\x81\xc0\x01": errs.Corrupt,
		"\xd4\x09\x00": errs.Unsupported, "\xd4\x04\x01": errs.Corrupt, "\xd4\x02\x01": errs.Corrupt,
		strings.Repeat("\x91", 1000) + "\x01":        errs.Corrupt,
		"\xc7\x08\x01\x93\x91\x03\xa2zz\xc4\x00":     errs.Unsupported, // a dtype
		"\xc7\x0b\x01\x93\x91\x03\xa4int8\xc4\x01a":  errs.Corrupt,     // fewer bytes than the shape has
		"\xc7\x0b\x01\x93\x91\xff\xa4int8\xc4\x01a":  errs.Corrupt,     // a negative extent
		"\x81\xb9__msgpack_chunked_array__\xc3":      errs.Corrupt,     // without chunks
		"\x81\xa1a\x81\xb9__msgpack_chunked_array__": errs.Corrupt,
	} {
		if _, err := Parse([]byte(in)); !errors.Is(err, kind) {
			t.Errorf("%.40x: got %v, want %v", in, err, kind)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"checkpoint_7", "legacy/checkpoint"} {
		b, err := os.ReadFile(filepath.Join("..", "..", "checkpoint", "testdata", "flax", filepath.FromSlash(name)))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := Parse(b)
		if err == nil {
			for range tree.Flatten(n) {
			}
		}
	})
}
