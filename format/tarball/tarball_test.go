package tarball_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tarball"
)

// write returns an archive.
func write(t testing.TB, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range headers {
		h := &headers[i]
		if h.Mode == 0 {
			h.Mode = 0o644
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg || h.Typeflag == 0 {
			if _, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func scan(b []byte, o tarball.Options) (members []tarball.Member, err error) {
	err = tarball.Scan(bytes.NewReader(b), int64(len(b)), o, func(m tarball.Member) error {
		members = append(members, m)
		return nil
	})
	return members, err
}

// reseal writes the checksum of the header at an offset.
func reseal(b []byte, at int) {
	copy(b[at+148:], "        ")
	sum := 0
	for _, c := range b[at : at+512] {
		sum += int(c)
	}
	copy(b[at+148:], fmt.Sprintf("%06o\x00 ", sum))
}

func TestMembers(t *testing.T) {
	long := strings.Repeat("d/", 80) + "name.jpg"
	for _, f := range []tar.Format{tar.FormatGNU, tar.FormatPAX} {
		b := write(t,
			tar.Header{Name: "a.jpg", Size: 3, Format: f},
			tar.Header{Name: long, Size: 513, Format: f},
			tar.Header{Name: "d/", Typeflag: tar.TypeDir, Format: f},
			tar.Header{Name: "link", Linkname: "../../etc/passwd", Typeflag: tar.TypeSymlink, Format: f},
			tar.Header{Name: "hard", Linkname: strings.Repeat("l", 150), Typeflag: tar.TypeLink, Format: f},
			tar.Header{Name: "pipe", Typeflag: tar.TypeFifo, Format: f},
			tar.Header{Name: "日本.txt", Size: 0, Format: f},
		)
		got, err := scan(b, tarball.Options{})
		if err != nil {
			t.Fatal(f, err)
		}
		var want []tarball.Member
		r := tar.NewReader(bytes.NewReader(b))
		for {
			h, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			want = append(want,
				tarball.Member{Name: strings.TrimSuffix(h.Name, "/"), Link: h.Linkname, Type: h.Typeflag, Size: h.Size})
		}
		for i := range got {
			if m := got[i]; m.Data <= m.Header || m.Data%512 != 0 || m.Regular() && m.Size > 0 && b[m.Data] != 'x' {
				t.Errorf("%v, member %d: %+v", f, i, m)
			}
			got[i].Header, got[i].Data = 0, 0
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%v: %s", f, d)
		}
	}
}

func TestOutside(t *testing.T) {
	for _, c := range []struct {
		m    tarball.Member
		want bool
	}{
		{tarball.Member{Name: "a/b"}, false},
		{tarball.Member{Name: "a/../b"}, false},
		{tarball.Member{Name: "./a"}, false},
		{tarball.Member{Name: "..a/b.."}, false},
		{tarball.Member{Name: "/a"}, true},
		{tarball.Member{Name: "../a"}, true},
		{tarball.Member{Name: "a/../../b"}, true},
		{tarball.Member{Name: "a/b", Link: "../c", Type: '2'}, false},
		{tarball.Member{Name: "a/b", Link: "../../c", Type: '2'}, true},
		{tarball.Member{Name: "a", Link: "/etc/passwd", Type: '2'}, true},
		{tarball.Member{Name: "a/b", Link: "../c", Type: '1'}, true}, // relative to the archive
	} {
		if got := c.m.Outside(); got != c.want {
			t.Errorf("%+v: got %t", c.m, got)
		}
	}
}

// counter counts what is read.
type counter struct {
	r     io.ReaderAt
	bytes int
	calls int
}

func (c *counter) ReadAt(p []byte, at int64) (int, error) {
	c.bytes, c.calls = c.bytes+len(p), c.calls+1
	return c.r.ReadAt(p, at)
}

// Data of large members is not read, and many small members take few reads.
func TestReadsNoPayload(t *testing.T) {
	const large = 4 << 20
	b := write(t, tar.Header{Name: "a", Size: large}, tar.Header{Name: "b", Size: large},
		tar.Header{Name: "c", Size: large})
	c := &counter{r: bytes.NewReader(b)}
	if err := tarball.Scan(c, int64(len(b)), tarball.Options{},
		func(tarball.Member) error { return nil }); err != nil || c.bytes > 16<<10 {
		t.Errorf("%d bytes of %d were read: %v", c.bytes, len(b), err)
	}
	small := make([]tar.Header, 10_000)
	for i := range small {
		small[i] = tar.Header{Name: fmt.Sprintf("%06d.cls", i), Size: 3}
	}
	b = write(t, small...)
	c = &counter{r: bytes.NewReader(b)}
	n := 0
	if err := tarball.Scan(c, int64(len(b)), tarball.Options{},
		func(tarball.Member) error { n++; return nil }); err != nil || n != len(small) || c.calls > 400 {
		t.Errorf("%d members in %d reads: %v", n, c.calls, err)
	}
}

func TestNumbers(t *testing.T) {
	b := write(t, tar.Header{Name: "a.jpg", Size: 5}, tar.Header{Name: "b.jpg", Size: 7})
	for _, c := range []struct {
		name, field string
		want        int64 // -1: refused
	}{
		{"octal", "00000000005\x00", 5},
		{"blanks before", "          5 ", 5},
		{"without an end", "000000000005", 5},
		{"base 256", "\x80\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x05", 5},
		{"empty", strings.Repeat("\x00", 12), 0},
		{"decimal", "00000000008\x00", -1},
		{"text", "five\x00\x00\x00\x00\x00\x00\x00\x00", -1},
		{"minus", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xfb", -1},
		{"sign", "-0000000005\x00", -1},
		{"beyond the file", "77777777777\x00", -1},
		{"beyond 63 bits", "\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", -1},
		{"63 bits", "\x80\x00\x00\x00\x7f\xff\xff\xff\xff\xff\xff\xff", -1},
	} {
		d := bytes.Clone(b)
		copy(d[124:136], c.field)
		reseal(d, 0)
		m, err := scan(d, tarball.Options{})
		switch {
		case c.want < 0 && !errors.Is(err, errs.Corrupt):
			t.Errorf("%s: got %+v, %v, want it refused", c.name, m, err)
		case c.want > 0 && (err != nil || len(m) != 2 || m[0].Size != c.want):
			t.Errorf("%s: got %+v, %v", c.name, m, err)
		}
	}
	if b, err := scan(nil, tarball.Options{Lenient: true}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("no bytes: %v, %v", b, err)
	}
}

// pax returns a header of type kind with records, and a member behind it.
func pax(t *testing.T, kind byte, records string) []byte {
	t.Helper()
	b := write(t, tar.Header{Name: "x", Size: int64(len(records)), Format: tar.FormatUSTAR},
		tar.Header{Name: "a.jpg", Size: 5, Format: tar.FormatUSTAR})
	b[156] = kind
	copy(b[512:], records)
	reseal(b, 0)
	return b
}

func TestPax(t *testing.T) {
	for _, c := range []struct {
		name, records string
		kind          byte
		want          tarball.Member
		refused       errs.Kind
	}{
		{"path", "12 path=b/c\n", 'x', tarball.Member{Name: "b/c", Size: 5}, 0},
		{"path with a slash", "13 path=b/c/\n", 'x', tarball.Member{Name: "b/c", Size: 5}, 0},
		{"size", "10 size=3\n", 'x', tarball.Member{Name: "a.jpg", Size: 3}, 0},
		{"others", "19 mtime=12345.678\n20 comment=a=b=c d \n", 'x', tarball.Member{Name: "a.jpg", Size: 5}, 0},
		{"for all", "20 comment=a=b=c d \n", 'g', tarball.Member{Name: "a.jpg", Size: 5}, 0},
		{"path for all", "12 path=b/c\n", 'g', tarball.Member{}, errs.Unsupported},
		{"long name", "q/r.jpg\x00", 'L', tarball.Member{Name: "q/r.jpg", Size: 5}, 0},
		{"short record", "99 path=b/c\n", 'x', tarball.Member{}, errs.Corrupt},
		{"record without an end", "12 path=b/cd", 'x', tarball.Member{}, errs.Corrupt},
		{"record without a key", "9 path-b\n", 'x', tarball.Member{}, errs.Corrupt},
		{"record without a length", "path=b/c\n", 'x', tarball.Member{}, errs.Corrupt},
		{"record of no bytes", "0 path=b/c\n", 'x', tarball.Member{}, errs.Corrupt},
		{"negative record", "-5 path=b/c\n", 'x', tarball.Member{}, errs.Corrupt},
		{"size that is no number", "10 size=x\n", 'x', tarball.Member{}, errs.Corrupt},
		{"negative size", "11 size=-3\n", 'x', tarball.Member{}, errs.Corrupt},
		{"size beyond the file", "28 size=9223372036854775807\n", 'x', tarball.Member{}, errs.Corrupt},
		{"path with a zero byte", "13 path=b\x00/c\n", 'x', tarball.Member{}, errs.Corrupt},
	} {
		m, err := scan(pax(t, c.kind, c.records), tarball.Options{})
		if c.refused != 0 {
			if !errors.Is(err, c.refused) {
				t.Errorf("%s: got %+v, %v", c.name, m, err)
			}
			continue
		}
		if err != nil || len(m) != 1 || m[0].Name != c.want.Name || m[0].Size != c.want.Size || m[0].Header != 0 ||
			m[0].Data != 1536 {
			t.Errorf("%s: got %+v, %v", c.name, m, err)
		}
	}
	// The header that is extended must be there, and damage of it does not end an archive quietly.
	b := pax(t, 'x', "12 path=b/c\n")
	for _, cut := range []int{1024, 1030} {
		if m, err := scan(b[:cut], tarball.Options{Lenient: true}); !errors.Is(err, errs.Corrupt) {
			t.Errorf("cut at %d: %+v, %v", cut, m, err)
		}
	}
	b[1024] = 'z'
	if m, err := scan(b, tarball.Options{Lenient: true}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("%+v, %v", m, err)
	}
	large := write(t, tar.Header{Name: "x", Size: 2 << 20, Format: tar.FormatUSTAR})
	large[156] = 'L'
	reseal(large, 0)
	if m, err := scan(large, tarball.Options{}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a name of 2 MiB: %+v, %v", m, err)
	}
}

// A sparse file is described, and what follows it is found.
func TestSparse(t *testing.T) {
	b := write(t, tar.Header{Name: "s.bin", Size: 1024, Format: tar.FormatGNU},
		tar.Header{Name: "b.jpg", Size: 5, Format: tar.FormatGNU})
	b[156] = 'S'
	reseal(b, 0)
	m, err := scan(b, tarball.Options{})
	if err != nil || len(m) != 2 || !m[0].Sparse || m[0].Regular() || !m[1].Regular() {
		t.Errorf("%+v, %v", m, err)
	}
	extended := append(append(bytes.Clone(b[:512]), make([]byte, 512)...), b[512:]...)
	extended[482] = 1
	reseal(extended, 0)
	m, err = scan(extended, tarball.Options{})
	if err != nil || len(m) != 2 || m[0].Data != 1024 || m[1].Name != "b.jpg" {
		t.Errorf("a map of two blocks: %+v, %v", m, err)
	}
	extended[512+504] = 1
	for range 4 {
		extended = extended[:1024]
	}
	if m, err = scan(extended, tarball.Options{}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("a map without an end: %+v, %v", m, err)
	}
}

func TestErrorsOfReads(t *testing.T) {
	b := write(t, tar.Header{Name: "a.jpg", Size: 5})
	failed := errors.New("no disk")
	for n := range 1 {
		err := tarball.Scan(failing{bytes.NewReader(b), n, failed}, int64(len(b)), tarball.Options{Lenient: true},
			func(tarball.Member) error { return nil })
		if !errors.Is(err, failed) {
			t.Errorf("read %d: %v", n, err)
		}
	}
	if err := tarball.Scan(bytes.NewReader(b), int64(len(b)), tarball.Options{},
		func(tarball.Member) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
}

type failing struct {
	r   io.ReaderAt
	n   int
	err error
}

func (f failing) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// FuzzScan goes through archives. Members lie in the file, one behind the other.
func FuzzScan(f *testing.F) {
	f.Add(write(f, tar.Header{Name: "a.jpg", Size: 5},
		tar.Header{Name: strings.Repeat("n", 200), Size: 700, Format: tar.FormatGNU}))
	f.Add(write(f, tar.Header{Name: strings.Repeat("n", 200), Size: 3, Format: tar.FormatPAX},
		tar.Header{Name: "l", Linkname: "x", Typeflag: tar.TypeSymlink}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range []tarball.Options{{}, {Lenient: true}} {
			end := int64(0)
			_ = tarball.Scan(bytes.NewReader(b), int64(len(b)), o, func(m tarball.Member) error {
				if m.Header < end || m.Data < m.Header+512 || m.Size < 0 || m.Data > int64(len(b)) ||
					m.Size > int64(len(b))-m.Data {
					t.Fatalf("%+v in %d bytes", m, len(b))
				}
				end = m.Data + m.Size
				return nil
			})
		}
	})
}

func BenchmarkScan(b *testing.B) {
	headers := make([]tar.Header, 2000)
	for i := range headers {
		headers[i] = tar.Header{Name: fmt.Sprintf("%06d.jpg", i), Size: 1000}
	}
	data := write(b, headers...)
	b.ReportAllocs()
	for b.Loop() {
		if err := tarball.Scan(bytes.NewReader(data), int64(len(data)), tarball.Options{},
			func(tarball.Member) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(headers)), "ns/member")
}
