package tfevents

import (
	"bytes"
	"encoding/hex"
	"iter"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/bivouac-ml/bivouac/format/tfrecord"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
)

// scalar is a value with its name.
type scalar struct {
	name  string
	value float64
}

func each(all ...scalar) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		for _, s := range all {
			if !yield(s.name, s.value) {
				return
			}
		}
	}
}

// TestBytesOfTensorBoard compares with the messages that the classes of TensorBoard serialize. See
// testdata/README.md.
func TestBytesOfTensorBoard(t *testing.T) {
	b, err := os.ReadFile("testdata/tensorboard.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]byte{
		"version": AppendVersion(nil, 1790000000.25),
		"start":   AppendStart(nil, 1790000000.25, 101),
		"scalars": AppendScalars(nil, 1790000001.5, 7, each(scalar{"loss", 0.1}, scalar{"job/seconds", 1e300},
			scalar{"größe", math.Inf(-1)}, scalar{strings.Repeat("n", 200), math.Copysign(0, -1)})),
		"nan":  AppendScalars(nil, 0, 1<<40, each(scalar{"loss", math.NaN()})),
		"many": AppendScalars(nil, 1, 1, each(slices.Repeat([]scalar{{"x", 1}}, 2000)...)),
	}
	for line := range strings.Lines(string(b)) {
		name, digits, _ := strings.Cut(strings.TrimSpace(line), " ")
		want, err := hex.DecodeString(digits)
		if err != nil {
			t.Fatal(err)
		}
		record, ok := got[name]
		if !ok {
			t.Errorf("%s: no such case", name)
			continue
		}
		delete(got, name)
		payload, err := tfrecord.Payload(record)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !bytes.Equal(payload, want) {
			t.Errorf("%s: %x, want %x", name, payload, want)
		}
	}
	if len(got) > 0 {
		t.Errorf("not in the file: %v", got)
	}
}

func TestNoScalarsNoRecord(t *testing.T) {
	if b := AppendScalars([]byte("before"), 1, 1, each()); string(b) != "before" {
		t.Errorf("got %q", b)
	}
}

// event is what a reader finds in a record.
type event struct {
	wall    float64
	step    int64
	scalars []scalar
}

// decode reads a record of scalars by the rules of Protocol Buffers.
func decode(t *testing.T, record []byte) (e event) {
	t.Helper()
	payload, err := tfrecord.Payload(record)
	if err != nil {
		t.Fatal(err)
	}
	fields(t, payload, func(n protowire.Number, b []byte, v uint64) {
		switch n {
		case 1:
			e.wall = math.Float64frombits(v)
		case 2:
			e.step = int64(v)
		case 5:
			fields(t, b, func(_ protowire.Number, b []byte, _ uint64) {
				var s scalar
				fields(t, b, func(n protowire.Number, b []byte, v uint64) {
					if n == 1 {
						s.name = string(b)
					} else {
						s.value = float64(math.Float32frombits(uint32(v)))
					}
				})
				e.scalars = append(e.scalars, s)
			})
		}
	})
	return e
}

// fields calls f for each field of a message.
func fields(t *testing.T, b []byte, f func(n protowire.Number, b []byte, v uint64)) {
	t.Helper()
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		b = b[size:]
		var text []byte
		var v uint64
		switch kind {
		case protowire.BytesType:
			text, size = protowire.ConsumeBytes(b)
		case protowire.Fixed64Type:
			v, size = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var short uint32
			short, size = protowire.ConsumeFixed32(b)
			v = uint64(short)
		case protowire.VarintType:
			v, size = protowire.ConsumeVarint(b)
		default:
			t.Fatalf("field %d of type %d", n, kind)
		}
		if size < 0 {
			t.Fatal(protowire.ParseError(size))
		}
		f(n, text, v)
		b = b[size:]
	}
}

// FuzzScalars checks that any scalars come back from a record, behind any bytes.
func FuzzScalars(f *testing.F) {
	f.Add(1.5, int64(3), "loss", 0.5, "lr", -1.0, []byte("before"))
	f.Add(0.0, int64(-1), "", math.MaxFloat64, "é", math.SmallestNonzeroFloat64, []byte{})
	f.Fuzz(func(t *testing.T, wall float64, step int64, name string, v float64, second string, w float64, before []byte) {
		if !utf8.ValidString(name) || !utf8.ValidString(second) {
			t.Skip("names are UTF-8")
		}
		b := AppendScalars(bytes.Clone(before), wall, step, each(scalar{name, v}, scalar{second, w}))
		if !bytes.Equal(b[:len(before)], before) {
			t.Fatal("the bytes before have changed")
		}
		got := decode(t, b[len(before):])
		want := event{wall, step, []scalar{{name, float64(float32(v))}, {second, float64(float32(w))}}}
		same := cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{}, scalar{}), same); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkAppendScalars(b *testing.B) {
	scalars := each(scalar{"loss", 0.5}, scalar{"lr", 1e-3}, scalar{"gradient norm", 3}, scalar{"accuracy", 0.9},
		scalar{"job/seconds", 0.1}, scalar{"job/data_seconds", 0.01})
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = AppendScalars(dst[:0], 1.79e9, 12345, scalars)
	}
}
