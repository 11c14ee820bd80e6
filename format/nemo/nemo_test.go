package nemo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func entries(r io.Reader) (list []string, err error) {
	err = Parse(r, func(e Entry) error {
		list = append(list, fmt.Sprintf("%s %s %v %v", e.Path, e.Text, e.Duration, e.Offset))
		return nil
	})
	return list, err
}

// TestParse: entries come in their order, unknown fields are skipped, and nothing stays of the
// entry before.
func TestParse(t *testing.T) {
	got, err := entries(strings.NewReader(`{"audio_filepath": "a.wav", "duration": 1.5, "text": "x\u00e9\n", "offset": 2}

{"speaker": {"id": [1, 2]}, "audio_filepath": "b.wav"}
{"text": "y", "audio_filepath": "c.wav", "duration": 0}`))
	want := []string{"a.wav xé\n 1.5 2", "b.wav  -1 0", "c.wav y 0 0"}
	if err != nil || strings.Join(got, "|") != strings.Join(want, "|") {
		t.Fatalf("got %q %v, want %q", got, err, want)
	}
	if got, err := entries(strings.NewReader(" \n")); err != nil || len(got) != 0 {
		t.Fatalf("an empty manifest: %q %v", got, err)
	}
	stop := errors.New("stop")
	if err := Parse(strings.NewReader(`{"audio_filepath": "a"}`), func(Entry) error { return stop }); !errors.Is(err,
		stop) {
		t.Fatalf("got %v, want the function's error", err)
	}
}

// TestMistakes: an error names the entry and the field.
func TestMistakes(t *testing.T) {
	const before = `{"audio_filepath": "a.wav"}` + "\n"
	for line, want := range map[string]string{
		`not json`: "entry 2", `[1]`: "entry 2", `{"audio_filepath": "b.wav", "dur`: "entry 2", `{"duration": 1}`: "entry 2, field audio_filepath",
		`{"audio_filepath": ""}`: "entry 2, field audio_filepath", `{"audio_filepath": 7}`: "entry 2, field audio_filepath",
		`{"audio_filepath": "b", "duration": "1"}`: "entry 2, field duration", `{"audio_filepath": "b", "duration": -1}`: "entry 2, field duration",
		`{"audio_filepath": "b", "offset": -1}`: "entry 2, field offset", `{"audio_filepath": "b", "text": 5}`: "entry 2, field text",
		`{"audio_filepath": "b", "duration": 1e999}`: "entry 2",
	} {
		got, err := entries(strings.NewReader(before + line))
		if err == nil || !strings.Contains(err.Error(), want) || errs.KindOf(err) == errs.Other || len(got) != 1 {
			t.Errorf("%s: got %q %v, want %q", line, got, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"audio_filepath": "a.wav", "duration": 1.5, "text": "x", "offset": 2}`))
	f.Add([]byte(`{"audio_filepath": "a"}{"audio_filepath": "b"}`))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := entries(bytes.NewReader(b))
		if err == nil && len(list) > len(b) {
			t.Fatalf("%d entries in %d bytes", len(list), len(b))
		}
	})
}
