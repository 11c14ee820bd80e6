package arrowipc_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/arrowipc"
	"github.com/bivouac-ml/bivouac/reader/readertest"
)

func stream() []byte {
	return readertest.ArrowOf(2, [][]byte{[]byte("one"), []byte("two"), []byte("three")})
}

// A stream has its fields and batches, and each batch the buffers of its fields.
func TestOpen(t *testing.T) {
	b := stream()
	f, err := arrowipc.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Schema.Fields) != 3 || f.Schema.Fields[2].Children[0].Name != "item" || len(f.Batches) != 2 ||
		f.Rows != 3 {
		t.Fatalf("%d fields, %d batches, %d rows", len(f.Schema.Fields), len(f.Batches), f.Rows)
	}
	places, err := f.Batches[1].Places(f.Schema.Fields)
	if err != nil {
		t.Fatal(err)
	}
	p := places[f.Schema.Fields[1]]
	if text := b[p.Buffers[2].Offset:][:p.Buffers[2].Length]; string(text) != "three" || p.Length != 1 {
		t.Errorf("text %q of %d values", text, p.Length)
	}
}

// A stream that is cut is refused, wherever that is, unless it is cut between messages.
func TestCut(t *testing.T) {
	b := stream()
	whole := map[int]bool{} // lengths that end with a message
	for n := range b {
		f, err := arrowipc.Open(bytes.NewReader(b[:n]), int64(n))
		if err == nil {
			whole[n] = true
			if f.Rows != 0 && f.Rows != 2 && f.Rows != 3 {
				t.Errorf("%d bytes: %d rows", n, f.Rows)
			}
		} else if !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if len(whole) > 4 {
		t.Errorf("%d lengths are read, want those of the 3 messages and of the end", len(whole))
	}
}

// Damage of a byte never makes the parser fail in another way than with an error.
func TestDamage(t *testing.T) {
	b := stream()
	for i := range b {
		for _, bit := range []byte{1, 0x80} {
			d := bytes.Clone(b)
			d[i] ^= bit
			check(t, d)
		}
	}
}

// check opens bytes and checks that all buffers lie in them.
func check(t *testing.T, b []byte) {
	f, err := arrowipc.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		if k := errs.KindOf(err); k != errs.Corrupt && k != errs.Unsupported && k != errs.Exhausted {
			t.Errorf("%v of kind %v", err, k)
		}
		return
	}
	for _, batch := range f.Batches {
		places, err := batch.Places(f.Schema.Fields)
		if err != nil {
			continue
		}
		for _, p := range places {
			for _, buffer := range p.Buffers {
				if buffer.Offset < 0 || buffer.Length < 0 || buffer.Offset+buffer.Length > int64(len(b)) {
					t.Errorf("buffer %+v of %d bytes", buffer, len(b))
					continue
				}
				if out, err := batch.Expand(b[buffer.Offset:buffer.Offset+buffer.Length], 1<<20); err == nil &&
					len(out) > max(1<<20, len(b)) {
					t.Errorf("%d bytes above the limit", len(out))
				}
			}
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add(stream())
	f.Add([]byte("ARROW1\x00\x00"))
	f.Fuzz(check)
}

func ExampleOpen() {
	b := readertest.ArrowOf(10, [][]byte{[]byte("a text")})
	f, err := arrowipc.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, field := range f.Schema.Fields {
		fmt.Println(field.Name, field.Type)
	}
	// Output:
	// id int64
	// text string
	// list list
}
