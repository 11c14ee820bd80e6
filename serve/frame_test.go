package serve

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// FuzzFrame checks that no bytes make the parsers of frames and calls panic, and that a frame that
// is read is written the same.
func FuzzFrame(f *testing.F) {
	f.Add(appendFrame(nil, kindCall, func(b []byte) []byte {
		return append(b,
			`{"id":1,"op":"load","args":{"path":"/x"}}`...)
	}))
	f.Add([]byte{1, 0, 0, 0, 1})
	f.Add([]byte{255, 255, 255, 255, 2, '{'})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		at := 0
		for {
			kind, body, err := readFrame(r)
			if err != nil {
				if err != io.EOF && err != io.ErrUnexpectedEOF && errs.KindOf(err) != errs.Invalid {
					t.Fatal(err)
				}
				return
			}
			again := appendFrame(nil, kind, func(b []byte) []byte { return append(b, body...) })
			if !bytes.Equal(again, b[at:at+len(again)]) {
				t.Fatalf("%q is written as %q", b[at:], again)
			}
			at += len(again)
			if k, err := parseCall(body); err == nil {
				k.args.path()
				k.args.context()
				k.args.metrics()
				k.args.finish() //nolint:errcheck // it must not panic
			}
			(&asks{}).answer(body) //nolint:errcheck // it must not panic
		}
	})
}

// TestFalseLengthCostsNoMemory checks that a frame takes memory for the bytes that came only.
func TestFalseLengthCostsNoMemory(t *testing.T) {
	b := binary.LittleEndian.AppendUint32(nil, maxFrame)
	b = append(b, kindCall, '{')
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, _, err := readFrame(bufio.NewReader(bytes.NewReader(b))); err == nil {
		t.Fatal("a truncated frame was read")
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes", got)
	}
}

func TestFrameRefusals(t *testing.T) {
	frame := func(kind byte, body string) []byte {
		return appendFrame(nil, kind, func(b []byte) []byte { return append(b, body...) })
	}
	for name, b := range map[string][]byte{
		"length 0":     {0, 0, 0, 0, 1},
		"huge":         {1, 0, 0, 64, 2},
		"unknown kind": frame(9, "{}"),
		"kind 0":       frame(0, "{}"),
		"no JSON":      frame(kindCall, "{"),
		"no UTF-8":     frame(kindCall, "\"\xff\""),
		"empty":        frame(kindCall, ""),
		"two values":   frame(kindCall, "{}{}"),
		"too deep":     frame(kindCall, strings.Repeat("[", 20000)+strings.Repeat("]", 20000)),
	} {
		if _, _, err := readFrame(bufio.NewReader(bytes.NewReader(b))); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, body := range []string{
		`[]`, `{}`, `{"id":0,"op":"x"}`, `{"id":1}`, `{"id":1,"op":""}`, `{"id":-1,"op":"x"}`,
		`{"id":1.5,"op":"x"}`, `{"id":"1","op":"x"}`,
		`{"id":1,"op":"x","args":[]}`, `{"id":1,"op":7}`, `{"id":1,"op":"x","more":1}`,
		`{"id":99999999999999999999,"op":"x"}`,
	} {
		if _, err := parseCall([]byte(body)); errs.KindOf(err) != errs.Invalid {
			t.Errorf("%s: %v", body, err)
		}
	}
}
