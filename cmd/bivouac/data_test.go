package main

import (
	"errors"
	"slices"
	"testing"

	"github.com/bivouac-ml/bivouac/compat/torchdata"
	"github.com/bivouac-ml/bivouac/errs"
)

// The shape of a state shows its writer.
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

// Differences are found in values of any length.
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

// A state of torchdata with shuffle tells its epoch, with the length of the data set.
func TestTorchTimeline(t *testing.T) {
	g := torchdata.NewGenerator(42)
	generator, err := torchdata.EncodeGenerator(&g)
	if err != nil {
		t.Fatal(err)
	}
	sampler := `{"samples_yielded":4,"sampler_iter_state":{"yielded":4,"generator":` + string(generator) + `}}`
	for _, text := range []string{
		`{"_num_yielded":2,"_sampler_iter_yielded":2,"_sampler_iter_state":` + sampler + `}`,
		`{"_snapshot":{"_snapshot_step":1,"_main_snapshot":{"_num_workers":1,"_sampler_iter_state":` + sampler + `}},"_steps_since_snapshot":1}`,
	} {
		s := &saved{raw: []byte(text)}
		if err := s.recognize(); err != nil {
			t.Fatal(err)
		}
		o := dataOptions{torchOptions: torchOptions{10, 2, true}}
		l, err := o.timeline(s)
		if err != nil {
			t.Fatal(err)
		}
		b, err := l.Batch(l.Here().Step)
		if err != nil || l.Here().Step != 2 || !slices.Equal(b.IDs, []int64{4, 5}) { // torch.randperm(10)[4:6] of seed 42
			t.Errorf("%+v, %v", b, err)
		}
		if _, err := l.Batch(5); !errors.Is(err, errs.Invalid) {
			t.Errorf("the next epoch: %v", err)
		}
		if seen, ok, err := l.In(0, 4); err != nil || !ok || seen.Step != 2 || seen.Row != 0 {
			t.Errorf("%+v %t %v", seen, ok, err)
		}
		if _, ok, err := l.In(1, 4); ok || err != nil {
			t.Error(ok, err)
		}
		for _, bad := range []torchOptions{{told: true}, {10, 0, true}, {2, 2, true}, {10, 2, false}} {
			if _, err := (&dataOptions{torchOptions: bad}).timeline(s); err == nil {
				t.Errorf("%+v: no error", bad)
			}
		}
	}
	s := &saved{raw: []byte(`{"_num_yielded":2,"_sampler_iter_yielded":2}`)}
	if err := s.recognize(); err != nil {
		t.Fatal(err)
	}
	if _, err := (&dataOptions{torchOptions: torchOptions{10, 2, true}}).timeline(s); !errors.Is(err, errs.Unsupported) {
		t.Error(err)
	}
}
