package webdataset_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/webdataset"
)

// write returns an archive of files whose contents are their names.
func write(t testing.TB, names ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, n := range names {
		if err := w.WriteHeader(&tar.Header{Name: n, Size: int64(len(n)), Mode: 0o644,
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestSplit(t *testing.T) {
	type part struct {
		key, name string
		ok        bool
	}
	for _, c := range []struct {
		file                  string
		dali, wds2idx, python part
	}{
		{"a.jpg", part{"a", "jpg", true}, part{"a", "jpg", true}, part{"a", "jpg", true}},
		{"d.e/a.seg.PNG", part{"d.e/a", "seg.PNG", true}, part{"d.e/a", "seg.PNG", true},
			part{"d.e/a", "seg.png", true}},
		{"a.", part{"a", "", true}, part{"a", "", true}, part{"a", "", true}},
		{"a..jpg", part{"a", ".jpg", true}, part{"a", ".jpg", true}, part{"a", ".jpg", true}},
		{"ab", part{"ab", "ab", true}, part{"a", "ab", true}, part{}},
		{"a", part{"a", "a", true}, part{"", "a", false}, part{}},
		{"d/b", part{"d/b", "d/b", true}, part{"d/", "d/b", false}, part{}},
		{".h.jpg", part{"", "h.jpg", false}, part{"", "h.jpg", false}, part{}},
		{"d/.h.jpg", part{"d/", "h.jpg", true}, part{"d/", "h.jpg", false}, part{}},
		{"__meta__", part{"__meta__", "__meta__", true}, part{"__meta_", "__meta__", true}, part{}},
		{"__m.json__", part{"__m", "json__", true}, part{"__m", "json__", true}, part{}},
		{"", part{"", "", false}, part{"", "", false}, part{}},
	} {
		for r, want := range []part{c.dali, c.wds2idx, c.python} {
			var got part
			got.key, got.name, got.ok = webdataset.Rules(r).Split(c.file)
			if got != want {
				t.Errorf("%s, %q: got %+v, want %+v", webdataset.Rules(r), c.file, got, want)
			}
		}
	}
}

func samples(b []byte, rules webdataset.Rules) (got []string, err error) {
	err = webdataset.Samples(bytes.NewReader(b), int64(len(b)), rules, func(s webdataset.Sample) error {
		text := s.Key
		for _, c := range s.Components {
			text += " " + c.Name
			if string(b[c.Offset:][:c.Size]) != c.File {
				return fmt.Errorf("%s has other bytes", c.File)
			}
		}
		got = append(got, text)
		return nil
	})
	return got, err
}

func TestSamples(t *testing.T) {
	b := write(t, "a.jpg", "a.cls", "README", "a.txt", "b.jpg", "__info__", "b.cls")
	for rules, want := range map[webdataset.Rules][]string{
		webdataset.Direct:   {"a jpg cls", "README README", "a txt", "b jpg", "__info__ __info__", "b cls"},
		webdataset.Packaged: {"a jpg cls txt", "b jpg cls"},
	} {
		got, err := samples(b, rules)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", rules, err, d)
		}
	}
	twice := write(t, "a.jpg", "a.cls", "a.jpg")
	if got, err := samples(twice, webdataset.Direct); err != nil || len(got) != 1 || got[0] != "a jpg cls jpg" {
		t.Errorf("%v, %v", got, err)
	}
	if got, err := samples(twice, webdataset.Packaged); !errors.Is(err, errs.Invalid) || len(got) > 0 {
		t.Errorf("%v, %v", got, err)
	}
	stop := errors.New("stop")
	n := 0
	err := webdataset.Samples(bytes.NewReader(b), int64(len(b)), webdataset.Direct,
		func(webdataset.Sample) error { n++; return stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d samples", err, n)
	}
}

func readIndex(text string, size int64) (lines []string, err error) {
	err = webdataset.ReadIndex(strings.NewReader(text), size, func(s webdataset.Sample) error {
		line := fmt.Sprintf("%q", s.Key)
		for _, c := range s.Components {
			line += fmt.Sprintf(" %q %q %d %d", c.Name, c.File, c.Offset, c.Size)
		}
		lines = append(lines, line)
		return nil
	})
	return lines, err
}

func TestReadIndex(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
		refused    errs.Kind
		says       string
	}{
		{"v1.2", "v1.2 2\njpg 512 1 d/a.jpg cls 1536 2 d/a.cls\njpg 2560 3 b.jpg\n",
			[]string{`"d/a" "jpg" "d/a.jpg" 512 1 "cls" "d/a.cls" 1536 2`, `"b" "jpg" "b.jpg" 2560 3`}, 0, ""},
		{"v1.1", "v1.1 1\njpg 512 1 cls 1536 2\n", []string{`"" "jpg" "" 512 1 "cls" "" 1536 2`}, 0, ""},
		{"a name without letters", "v1.2 1\n 512 1 a.\n", []string{`"a" "" "a." 512 1`}, 0, ""},
		{"tabs and returns", "v1.2\t1\r\njpg\t512  1 a.jpg\r\n", []string{`"a" "jpg" "a.jpg" 512 1`}, 0, ""},
		{"no end of the last line", "v1.2 1\njpg 512 1 a.jpg", []string{`"a" "jpg" "a.jpg" 512 1`}, 0, ""},
		{"no bytes", "", nil, errs.Corrupt, "line 1"},
		{"another version", "v1.3 1\njpg 512 1 a.jpg\n", nil, errs.Unsupported, "v1.3"},
		{"no version", "1\njpg 512 1 a.jpg\n", nil, errs.Corrupt, "line 1"},
		{"another file", strings.Repeat("x", 5000), nil, errs.Corrupt, "line 1"},
		{"no number", "v1.2\n", nil, errs.Corrupt, "line 1"},
		{"no samples", "v1.2 0\n", nil, errs.Corrupt, "line 1"},
		{"a huge number", "v1.2 9223372036854775807\n", nil, errs.Corrupt, "line 1"},
		{"fewer lines", "v1.2 2\njpg 512 1 a.jpg\n", nil, errs.Corrupt, "line 3"},
		{"more lines", "v1.2 1\njpg 512 1 a.jpg\njpg 512 1 a.jpg\n", nil, errs.Corrupt, "line 3"},
		{"an empty line", "v1.2 1\n\n", nil, errs.Corrupt, "line 2"},
		{"three fields", "v1.2 1\njpg 512 1\n", nil, errs.Corrupt, "line 2"},
		{"words", "v1.2 1\njpg x 1 a.jpg\n", nil, errs.Corrupt, "line 2"},
		{"a negative size", "v1.2 1\njpg 512 -1 a.jpg\n", nil, errs.Corrupt, "line 2"},
		{"between blocks", "v1.2 1\njpg 513 1 a.jpg\n", nil, errs.Corrupt, "multiple of 512"},
		{"behind the end", "v1.2 1\njpg 10240 1 a.jpg\n", nil, errs.Corrupt, "10000 bytes"},
		{"larger than the archive", "v1.2 1\njpg 512 9999 a.jpg\n", nil, errs.Corrupt, "10000 bytes"},
		{"beyond 63 bits", "v1.2 1\njpg 512 9223372036854775808 a.jpg\n", nil, errs.Corrupt, "line 2"},
	} {
		got, err := readIndex(c.text, 10000)
		if c.refused != 0 {
			if !errors.Is(err, c.refused) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: got %v, %v", c.name, got, err)
			}
			continue
		}
		if d := cmp.Diff(c.want, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", c.name, err, d)
		}
	}
	long := "v1.2 1\n" + strings.TrimSuffix(strings.Repeat("jpg 512 1 a.jpg ", 10_000), " ") + "\n"
	if got, err := readIndex(long, 10000); err != nil || len(got) != 1 {
		t.Errorf("a long line: %d, %v", len(got), err)
	}
	if _, err := readIndex("v1.2 1\n"+strings.Repeat("x", 9<<20), 10000); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a line without an end: %v", err)
	}
}

func TestWriteIndex(t *testing.T) {
	b := write(t, "d/a.jpg", "d/a.cls", "d/.h", "d/no", "ab", "b.JPG")
	var text bytes.Buffer
	err := webdataset.WriteIndex(&text, bytes.NewReader(b), int64(len(b)))
	want := "v1.2 4\njpg 512 7 d/a.jpg cls 1536 7 d/a.cls\nd/no 3584 4 d/no\nab 4608 2 ab\nJPG 5632 5 b.JPG\n"
	if err != nil || text.String() != want {
		t.Errorf("got %q, %v", text.String(), err)
	}
	for name, b := range map[string][]byte{"blanks": write(t, "a b.jpg"), "no samples": write(t, "d/a"),
		"nothing": write(t)} {
		text.Reset()
		if err := webdataset.WriteIndex(&text, bytes.NewReader(b), int64(len(b))); !errors.Is(err,
			errs.Invalid) || text.Len() > 0 {
			t.Errorf("%s: %q, %v", name, text.String(), err)
		}
	}
}

// FuzzSamples groups the members of any archive. A sample of an index is read back from it.
func FuzzSamples(f *testing.F) {
	f.Add(write(f, "a.jpg", "a.cls", "b.jpg"), byte(0))
	f.Add(write(f, "d/.x", "ab", "__m__"), byte(1))
	f.Fuzz(func(t *testing.T, b []byte, r byte) {
		_ = webdataset.Samples(bytes.NewReader(b), int64(len(b)), webdataset.Rules(r%3),
			func(s webdataset.Sample) error {
				if s.Key == "" || len(s.Components) == 0 {
					t.Fatalf("%+v", s)
				}
				return nil
			})
		var text bytes.Buffer
		if err := webdataset.WriteIndex(&text, bytes.NewReader(b), int64(len(b))); err != nil {
			return
		}
		n := 0
		if err := webdataset.ReadIndex(&text, int64(len(b)),
			func(webdataset.Sample) error { n++; return nil }); err != nil || n == 0 {
			t.Fatalf("%d samples, %v", n, err)
		}
	})
}

// FuzzIndex reads any text. Components lie in the archive.
func FuzzIndex(f *testing.F) {
	f.Add("v1.2 1\njpg 512 1 a.jpg cls 1024 3 a.cls\n")
	f.Add("v1.1 2\njpg 512 1\n 1024 3\n")
	f.Fuzz(func(t *testing.T, text string) {
		const size = 1 << 16
		_ = webdataset.ReadIndex(strings.NewReader(text), size, func(s webdataset.Sample) error {
			for _, c := range s.Components {
				if c.Offset < 0 || c.Offset%512 != 0 || c.Size < 0 || c.Offset+c.Size > size {
					t.Fatalf("%+v", s)
				}
			}
			return nil
		})
	})
}
