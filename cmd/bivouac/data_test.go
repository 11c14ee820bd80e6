package main

import (
	"errors"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// What wrote a state is told by its shape.
func TestRecognize(t *testing.T) {
	for text, want := range map[string]string{
		`{"kind":"loader","position":0,"version":1}`:              formBivouac,
		`{"_snapshot":{},"_steps_since_snapshot":0}`:              formWorkers,
		`{"_num_yielded":1,"_sampler_iter_yielded":1}`:            formTorch,
		`{"num_yielded":1,"root":{}}`:                             formNodes,
		`{"global_next_index":12}`:                                formGrain,
		`{"epoch":1,"sample_in_epoch":2,"num_canonical_nodes":1}`: formStream,
		` {"a":[1,{"b":null}],"c":{}}`:                            formJSON,
		"\x0a\x06\x0a\x04name":                                    formDALI,
	} {
		s := &saved{name: "x", raw: []byte(text)}
		if err := s.recognize(); err != nil || s.form != want {
			t.Errorf("%s is %q (%v), want %q", text, s.form, err, want)
		}
		if d := compareLeaves(s.all(), s.all()); len(d) > 0 {
			t.Errorf("%s differs from itself: %v", text, d)
		}
	}
	for _, text := range []string{"", "x", "[1]", `{"a":`, `{"a":1,"a":2}`, `{"kind":"loader","position":"0","version":1}`} {
		s := &saved{raw: []byte(text)}
		if err := s.recognize(); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// What differs is found, however long the values are.
func TestCompareLeaves(t *testing.T) {
	long := make([]byte, 1000)
	for i := range long {
		long[i] = 'a'
	}
	a := []fact{{"same", "1"}, {"long", string(long)}, {"gone", "2"}}
	long[999] = 'b'
	b := []fact{{"same", "1"}, {"long", string(long)}, {"new", "3"}}
	if d := compareLeaves(a, b); len(d) != 3 {
		t.Errorf("%v", d)
	}
}

// States are anybody's bytes.
func FuzzRecognize(f *testing.F) {
	f.Add([]byte(`{"kind":"loader","position":0,"version":1,"extra":{"history":[[0,0,4]],"index":0,"step":0},"fields":{"order":"sequential(n=10)","samples":"10"}}`))
	f.Add([]byte(`{"_snapshot":{"_main_snapshot":{"_num_workers":2},"_worker_snapshots":{"worker_0":{}}},"_steps_since_snapshot":0}`))
	f.Add([]byte("\x0a\x06\x0a\x04name"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s := &saved{name: "x", raw: text}
		if s.recognize() != nil {
			return
		}
		s.facts()
		if d := compareLeaves(s.all(), s.all()); len(d) > 0 {
			t.Errorf("differs from itself: %v", d)
		}
	})
}
