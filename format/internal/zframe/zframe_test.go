package zframe

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"
)

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := bytes.Repeat(rapid.SliceOf(rapid.Byte()).Draw(t, "src"), rapid.IntRange(1, 300).Draw(t, "times"))
		e := NewEncoder(rapid.IntRange(-5, 22).Draw(t, "level"), rapid.Bool().Draw(t, "checksum"))
		frame := e.Append(nil, src)
		if len(frame) > e.Bound(len(src)) {
			t.Fatalf("%d bytes became %d, bound %d", len(src), len(frame), e.Bound(len(src)))
		}
		got, err := Decode(nil, frame, len(src))
		if err != nil || !bytes.Equal(got, src) {
			t.Fatalf("Decode: %v", err)
		}
		if len(src) > 0 {
			if _, err := Decode(nil, frame, len(src)-1); !errors.Is(err, ErrSize) {
				t.Fatalf("Decode with too small a limit: %v, want ErrSize", err)
			}
		}
	})
}

// A frame as a streaming encoder makes it: no content size.
var streamed = []byte{
	0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58,
	0x18, 0x00, 0x00, 'a', 'b', 'c', // raw, 3 bytes
	0x23, 0x00, 0x00, 'z', // last, run of 4
}

func TestWithoutContentSize(t *testing.T) {
	got, err := Decode(nil, streamed, 1<<20)
	if err != nil || string(got) != "abczzzz" {
		t.Fatalf("Decode = %q, %v", got, err)
	}
	if got, err := Decode(nil, streamed, 6); err == nil {
		t.Fatalf("limit 6: %q, want an error", got)
	}
	dst := make([]byte, 7)
	if got, err := Decode(dst, streamed, 7); err != nil || &got[0] != &dst[0] {
		t.Fatalf("Decode into place: %v", err)
	}
}

func TestFaults(t *testing.T) {
	frame := NewEncoder(3, true).Append(nil, []byte("hello, hello, hello"))
	skippable := []byte{0x50, 0x2a, 0x4d, 0x18, 0, 0, 0, 0}
	bad := bytes.Clone(frame)
	bad[len(bad)-1] ^= 1
	for _, c := range []struct {
		name string
		src  []byte
		want error
	}{
		{"empty", nil, ErrFrame},
		{"not zstd", []byte("hello, world, this is no frame"), ErrFrame},
		{"skippable", skippable, ErrFrame},
		{"two frames", append(bytes.Clone(frame), frame...), ErrTrailing},
		{"trailing skippable", append(bytes.Clone(frame), skippable...), ErrTrailing},
		{"trailing byte", append(bytes.Clone(frame), 0), ErrTrailing},
		{"cut", frame[:len(frame)-5], ErrFrame},
		{"checksum", bad, ErrContent},
		{"size that no block can hold", []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 1, 0, 0, 0x09, 0, 0, 'a'}, ErrContent},
	} {
		if _, err := Decode(nil, c.src, 1<<20); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
}

// Decode keeps to its limit, and what it decodes it decodes again into the same
// memory.
func FuzzDecode(f *testing.F) {
	f.Add(streamed, 7)
	f.Add(NewEncoder(3, true).Append(nil, []byte("hello, hello, hello")), 19)
	f.Add(NewEncoder(19, false).Append(nil, make([]byte, 1<<20)), 100)
	f.Fuzz(func(t *testing.T, src []byte, limit int) {
		limit = max(0, min(limit, 4<<20))
		got, err := Decode(nil, src, limit)
		if err != nil {
			return
		}
		if len(got) > limit {
			t.Fatalf("%d bytes, limit %d", len(got), limit)
		}
		dst := make([]byte, len(got))
		if again, err := Decode(dst, src, len(got)); err != nil || !bytes.Equal(again, got) {
			t.Fatalf("into %d bytes: %v", len(dst), err)
		}
	})
}
