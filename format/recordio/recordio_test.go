package recordio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/errs"
)

func scanned(b []byte) (places [][2]int64, err error) {
	err = Scan(bytes.NewReader(b), int64(len(b)), func(offset, length int64) error {
		places = append(places, [2]int64{offset, length})
		return nil
	})
	return places, err
}

var magicBytes = binary.LittleEndian.AppendUint32(nil, magic)

// What Append writes is found by Scan and Payload, with the magic number anywhere.
func TestRecordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		piece := rapid.SampledFrom([][]byte{nil, []byte("a"), []byte("bc"), []byte("defg"), magicBytes,
			magicBytes[:3], bytes.Repeat([]byte{7}, 20_000)})
		var b []byte
		var payloads [][]byte
		var want [][2]int64
		for range rapid.IntRange(0, 8).Draw(t, "records") {
			p := slices.Concat(rapid.SliceOfN(piece, 0, 5).Draw(t, "payload")...)
			at := int64(len(b))
			b = Append(b, p)
			payloads, want = append(payloads, p), append(want, [2]int64{at, int64(len(b)) - at})
		}
		got, err := scanned(b)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("scanned: %v, %v, want %v", got, err, want)
		}
		for i, p := range got {
			record := b[p[0] : p[0]+p[1]]
			payload, joined, err := Payload(record, make([]byte, 0, 3))
			if err != nil || !bytes.Equal(payload, payloads[i]) {
				t.Fatalf("record %d: %q, %v, want %q", i, payload, err, payloads[i])
			}
			if whole := bytes.Count(record, magicBytes) == 1; whole && joined {
				t.Fatalf("record %d has one part and was copied", i)
			}
		}
	})
}

// A damaged header, parts in a wrong order and cut files are refused with record and offset.
func TestDamage(t *testing.T) {
	split := slices.Concat([]byte("1234"), magicBytes, []byte("5678"), magicBytes, []byte("9"))
	b := Append(nil, []byte("abc"))
	at := len(b)
	b = Append(b, split)
	flag := func(b []byte, part, kind int) []byte {
		b = bytes.Clone(b)
		off := at + part*12 + 7
		b[off] = b[off]&0x1f | byte(kind)<<5
		return b
	}
	for name, bad := range map[string][]byte{
		"a magic number":              append(bytes.Clone(b[:at]), "....abcdefgh"...),
		"a record that begins with 2": flag(b, 0, middle),
		"a record that begins with 3": flag(b, 0, last),
		"a part 0 after 1":            flag(b, 1, whole),
		"a part 1 after 1":            flag(b, 1, first),
		"a part 7":                    flag(b, 0, 7),
		"no last part":                b[:len(b)-12],
		"a cut part":                  b[:len(b)-13],
		"cut zeros":                   b[:len(b)-1],
		"a cut header":                b[:at+5],
		"a length beyond the file":    append(bytes.Clone(b[:at]), 0x0a, 0x23, 0xd7, 0xce, 0xff, 0xff, 0xff, 0x1f),
	} {
		got, err := scanned(bad)
		if !errors.Is(err, errs.Corrupt) || !strings.Contains(err.Error(), "record 1 at byte ") || len(got) != 1 {
			t.Errorf("%s: %d records, %v", name, len(got), err)
		}
		if _, _, err := Payload(bad[at:], nil); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%s: payload: %v", name, err)
		}
	}
	if p, _, err := Payload(b, nil); err != nil || string(p) != "abc" {
		t.Errorf("two records: %q, %v", p, err)
	}
	stop := errors.New("stop")
	if err := Scan(bytes.NewReader(b), int64(len(b)), func(int64, int64) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
	if err := Scan(bytes.NewReader(b[:5]), int64(len(b)), func(int64, int64) error { return nil }); err == nil {
		t.Error("a file that is shorter than its size was accepted")
	}
}

// Images have one label or several; a payload that is too short is refused.
func TestImages(t *testing.T) {
	for _, m := range []Image{
		{Label: 3.5, ID: 7, ID2: 8, Data: []byte("jpeg")},
		{Labels: []byte("12345678"), Data: []byte("x")},
		{},
	} {
		got, err := ParseImage(AppendImage(nil, m))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(m) {
			t.Errorf("got %v, %v, want %v", got, err, m)
		}
	}
	b := AppendImage(nil, Image{Labels: []byte("12345678")})
	for n := range b {
		if _, err := ParseImage(b[:n]); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	binary.LittleEndian.PutUint32(b, 1<<31)
	if _, err := ParseImage(b); !errors.Is(err, errs.Corrupt) {
		t.Errorf("2^31 labels: %v", err)
	}
}

// Lines of an index come back, and others are refused with their number.
func TestIndexLines(t *testing.T) {
	b := AppendIndex(AppendIndex(nil, "0", 0), "a key", 1<<40)
	var keys []string
	var offsets []int64
	add := func(key string, offset int64) error {
		keys, offsets = append(keys, key), append(offsets, offset)
		return nil
	}
	if err := ReadIndex(bytes.NewReader(append(b, "\n5 6\r\n"...)), add); err != nil ||
		!slices.Equal(keys, []string{"0", "a key", "5"}) ||
		!slices.Equal(offsets, []int64{0, 1 << 40, 6}) {
		t.Errorf("%q, %v, %v", keys, offsets, err)
	}
	for _, line := range []string{"1", "x y", "1\t-1", "1\t99999999999999999999", strings.Repeat("1", 100_000)} {
		if err := ReadIndex(strings.NewReader("0\t1\n"+line+"\n"), add); !errors.Is(err, errs.Corrupt) ||
			!strings.Contains(err.Error(), "line 2") && len(line) < 1000 {
			t.Errorf("%.20q: %v", line, err)
		}
	}
	stop := errors.New("stop")
	if err := ReadIndex(bytes.NewReader(b), func(string, int64) error { return stop }); !errors.Is(err, stop) {
		t.Error(err)
	}
}

// FuzzFile reads any bytes: what Scan finds is a record.
func FuzzFile(f *testing.F) {
	f.Add(Append(nil, []byte("abc")))
	f.Add(Append(nil, slices.Concat([]byte("1234"), magicBytes, []byte("5"))))
	f.Add(magicBytes)
	f.Fuzz(func(t *testing.T, b []byte) {
		places, _ := scanned(b)
		for _, p := range places {
			payload, _, err := Payload(b[p[0]:p[0]+p[1]], nil)
			if err != nil || len(payload) > len(b) {
				t.Fatalf("%d bytes at %d: %v", p[1], p[0], err)
			}
			ParseImage(payload) //nolint:errcheck // only panics count
		}
	})
}

// FuzzIndex reads lines of an index.
func FuzzIndex(f *testing.F) {
	f.Add([]byte("0\t0\n1\t16\n"))
	f.Add([]byte("x\n"))
	f.Add([]byte(" a b 2\r\n\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		ReadIndex(bytes.NewReader(b), func(key string, offset int64) error { //nolint:errcheck // only what is added counts
			if key == "" || offset < 0 {
				t.Fatalf("%q %d", key, offset)
			}
			return nil
		})
	})
}
