package dali_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/bivouac-ml/bivouac/compat/dali"
	"github.com/bivouac-ml/bivouac/compat/dali/stateproto"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
)

// numberedFiles makes n files, which contain their number.
func numberedFiles(t testing.TB, n int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	for k := range n {
		name := filepath.Join(dir, "c", fmt.Sprintf("f%05d.jpg", k))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strconv.Itoa(k)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// dynamicReader is a reader of dynamic mode as DALI's, which is closed at the end of the test.
func dynamicReader(t testing.TB, args op.Args, o readers.Options) *readers.Reader {
	t.Helper()
	if o.Compat == nil {
		o.Compat = dali.Dynamic{}
	}
	r, err := readers.New("readers.file", args, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() }) //nolint:errcheck // files that were read
	return r
}

// run is what readers gave: batches, the state after each, and where the epochs end.
type run struct {
	batches [][]int
	states  []string
	ends    []int
}

func epochsOf(t testing.TB, r *readers.Reader, batch, epochs int) (all run, err error) {
	for range epochs {
		for outputs, err := range r.NextEpoch(t.Context(), batch) {
			if err != nil {
				return all, err
			}
			samples, err := outputs[0].Samples(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var list []int
			for _, s := range samples {
				n, err := strconv.Atoi(string(s.Data))
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, n)
			}
			s, err := r.State()
			if err != nil {
				t.Fatal(err)
			}
			all.batches, all.states = append(all.batches, list), append(all.states, s.String())
		}
		all.ends = append(all.ends, len(all.batches))
	}
	return all, nil
}

func drawnReader(t *rapid.T, dirs map[int]string) op.Args {
	n := rapid.SampledFrom([]int{4, 7, 12}).Draw(t, "samples")
	shards := rapid.IntRange(1, 3).Draw(t, "shards")
	a := op.Args{"file_root": dirs[n], "num_shards": shards, "shard_id": rapid.IntRange(0, shards-1).Draw(t, "shard"),
		"pad_last_batch": rapid.Bool().Draw(t, "pad"), "seed": 3}
	switch rapid.IntRange(0, 4).Draw(t, "order") {
	case 1:
		a["random_shuffle"], a["initial_fill"] = true, rapid.IntRange(1, 5).Draw(t, "fill")
	case 2:
		a["shuffle_after_epoch"] = true
	case 3:
		a["stick_to_shard"] = true
	case 4:
		a["random_shuffle"], a["initial_fill"], a["stick_to_shard"] = true, 3, true
	}
	return a
}

// After a restore the stream of batches and states goes on. The epoch ends where it would
// have ended; as DALI counts, it is a whole one.
func TestDynamicRestore(t *testing.T) {
	dirs := map[int]string{4: numberedFiles(t, 4), 7: numberedFiles(t, 7), 12: numberedFiles(t, 12)}
	rapid.Check(t, func(rt *rapid.T) {
		a, batch := drawnReader(rt, dirs), rapid.IntRange(1, 5).Draw(rt, "batch")
		mode := dali.Dynamic{Extend: rapid.Bool().Draw(rt, "extend")}
		whole, err := epochsOf(t, dynamicReader(t, a, readers.Options{EnableCheckpointing: true, Compat: mode}), batch, 4)
		if err != nil {
			rt.Fatal(err)
		}
		at := rapid.IntRange(0, whole.ends[2]-1).Draw(rt, "stopped")
		next := slices.IndexFunc(whole.ends, func(end int) bool { return end > at+1 })

		q := dynamicReader(t, a, readers.Options{Compat: mode})
		if err := q.SetState(whole.states[at]); err != nil {
			rt.Fatal(err)
		}
		more, err := epochsOf(t, q, batch, 4-next)
		if err != nil {
			rt.Fatal(err)
		}
		var ends []int
		for _, end := range whole.ends[next:] {
			ends = append(ends, end-at-1)
		}
		if !slices.EqualFunc(more.batches, whole.batches[at+1:], slices.Equal[[]int]) ||
			!slices.Equal(more.states, whole.states[at+1:]) || !slices.Equal(more.ends, ends) {
			rt.Fatalf("after batch %d of %v came %v", at, whole, more)
		}

		f := dynamicReader(t, a, readers.Options{Compat: mode, Restore: readers.Restore{Compat: dali.Dynamic{}}})
		if err := f.SetState(whole.states[at]); err != nil {
			rt.Fatal(err)
		}
		full, err := epochsOf(t, f, batch, 1)
		if err != nil {
			rt.Fatal(err)
		}
		common := min(len(full.batches), len(whole.batches)-at-1)
		if full.ends[0] != whole.ends[0] || !slices.EqualFunc(full.batches[:common], whole.batches[at+1:at+1+common], slices.Equal[[]int]) {
			rt.Fatalf("as DALI, after batch %d of %v came %v", at, whole, full)
		}
	})
}

// A broken loop is followed by a whole epoch's number of batches, as in DALI, and an
// extended state tells where that ends.
func TestDynamicBreak(t *testing.T) {
	a := op.Args{"file_root": numberedFiles(t, 7)}
	o := readers.Options{EnableCheckpointing: true, Compat: dali.Dynamic{Extend: true}}
	r := dynamicReader(t, a, o)
	for range r.NextEpoch(t.Context(), 2) {
		break
	}
	got, err := epochsOf(t, r, 2, 1)
	if want := [][]int{{2, 3}, {4, 5}, {6, 0}, {1, 2}}; err != nil ||
		!slices.EqualFunc(got.batches, want, slices.Equal[[]int]) {
		t.Fatalf("got %v, %v", got.batches, err)
	}
	q := dynamicReader(t, a, o)
	if err := q.SetState(got.states[1]); err != nil {
		t.Fatal(err)
	}
	rest, err := epochsOf(t, q, 2, 1)
	if want := [][]int{{6, 0}, {1, 2}}; err != nil || !slices.EqualFunc(rest.batches, want, slices.Equal[[]int]) {
		t.Errorf("the rest is %v, %v", rest.batches, err)
	}
}

// textOf is a state in DALI's form.
func textOf(t testing.TB, s stateproto.Reader) string {
	t.Helper()
	b, err := s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What DALI takes without a word is refused, unless Restore.Compat asks for DALI's ways.
func TestDynamicStrict(t *testing.T) {
	dir, other := numberedFiles(t, 7), numberedFiles(t, 9)
	plain := op.Args{"file_root": dir}
	shuffled := op.Args{"file_root": dir, "random_shuffle": true, "initial_fill": 3, "seed": 5}
	extended := func(args op.Args) string {
		r := dynamicReader(t, args, readers.Options{EnableCheckpointing: true, Compat: dali.Dynamic{Extend: true}})
		got, err := epochsOf(t, r, 2, 1)
		if err != nil {
			t.Fatal(err)
		}
		return got.states[1]
	}
	loader := stateproto.NewLoader(1649374289, 0, 3)
	for name, c := range map[string]struct {
		args   op.Args
		state  string
		set    bool // refused at once
		kind   errs.Kind
		says   string
		nobody bool // refused by DALI too
	}{
		"no base64":            {args: plain, state: "!!!", set: true, kind: errs.Invalid, says: "base64"},
		"no padding":           {args: plain, state: "refuse", set: true, kind: errs.Invalid, nobody: true},
		"no message":           {args: plain, state: "AAAA", set: true, kind: errs.Invalid},
		"no generator":         {args: plain, state: "EgA=", set: true, kind: errs.Invalid, says: "rng"},
		"a later place":        {args: plain, state: textOf(t, stateproto.Reader{Loader: stateproto.NewLoader(1, 0, 7)}), kind: errs.Mismatch, says: "age"},
		"an epoch below 0":     {args: plain, state: textOf(t, stateproto.Reader{Loader: stateproto.NewLoader(1, -1, 2)}), kind: errs.Mismatch},
		"another seed":         {args: shuffled, state: textOf(t, stateproto.Reader{Loader: loader}), kind: errs.Mismatch, says: "random state"},
		"other data":           {args: plain, state: extended(op.Args{"file_root": other}), kind: errs.Mismatch, says: "fingerprint"},
		"another order":        {args: plain, state: extended(op.Args{"file_root": dir, "num_shards": 2}), kind: errs.Mismatch, says: "shard"},
		"more than the epoch":  {args: plain, state: textOf(t, stateproto.Reader{Loader: stateproto.NewLoader(537413182, 0, 2), Bivouac: changed(t, extended(plain), func(x *stateproto.Extension) { x.Left = 70 })}), kind: errs.Corrupt, says: "left"},
		"an epoch that is not": {args: plain, state: textOf(t, stateproto.Reader{Loader: stateproto.NewLoader(537413182, 0, 2), Bivouac: changed(t, extended(plain), func(x *stateproto.Extension) { x.Epoch = -7 })}), kind: errs.Corrupt, says: "epoch"},
	} {
		r := dynamicReader(t, c.args, readers.Options{})
		err := r.SetState(c.state)
		if (err != nil) != c.set {
			t.Errorf("%s: SetState: %v", name, err)
		}
		if err == nil {
			_, err = epochsOf(t, r, 2, 1)
		}
		if !errors.Is(err, c.kind) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: got %v, want kind %v and %q", name, err, c.kind, c.says)
		}
		lax := dynamicReader(t, c.args, readers.Options{Restore: readers.Restore{Compat: dali.Dynamic{}}})
		if err := lax.SetState(c.state); (err != nil) != c.nobody {
			t.Errorf("%s: as DALI: %v", name, err)
		}
	}
}

// changed is the extension of a state, changed.
func changed(t testing.TB, state string, change func(x *stateproto.Extension)) *stateproto.Extension {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(state)
	if err != nil {
		t.Fatal(err)
	}
	s, err := stateproto.ParseReader(b)
	if err != nil {
		t.Fatal(err)
	}
	change(s.Bivouac)
	return s.Bivouac
}

// What DALI 2.4.0 did with states of other readers, and what followed.
func TestDynamicFollows(t *testing.T) {
	dirs := map[int]string{4: numberedFiles(t, 4), 5: numberedFiles(t, 5), 7: numberedFiles(t, 7),
		10: numberedFiles(t, 10)}
	for _, c := range []struct {
		n     int
		args  op.Args
		rng   string
		epoch int32
		age   int32
		want  [][]int
		after stateproto.Loader // of one epoch
	}{
		{n: 4, rng: "537413182", age: 6, want: [][]int{{2, 3}, {0, 1}}, after: stateproto.NewLoader(537413182, 2, 2)},
		{n: 4, rng: "537413182", age: 13, want: [][]int{{1, 2}, {3, 0}}, after: stateproto.NewLoader(537413182, 4, 1)},
		{n: 4, args: op.Args{"random_shuffle": true, "initial_fill": 3, "seed": 5}, rng: "1649374289", age: 6, want: [][]int{{1, 0}, {3, 0}}, after: stateproto.NewLoader(1528728919, 2, 2)},
		{n: 10, args: op.Args{"random_shuffle": true, "initial_fill": 3, "seed": 5}, rng: "1649374289", age: 3, want: [][]int{{5, 2}, {7, 4}, {3, 8}, {0, 9}, {1, 7}}, after: stateproto.NewLoader(1451169691, 1, 3)},
		{n: 10, args: op.Args{"random_shuffle": true, "initial_fill": 3, "seed": 5, "num_shards": 2}, rng: "1649374289", epoch: 2, age: 3, want: [][]int{{5, 7}, {2, 4}, {3, 8}}, after: stateproto.NewLoader(878730569, 3, 4)},
		{n: 5, args: op.Args{"shuffle_after_epoch": true}, rng: "537413182", epoch: 3, age: 7, want: [][]int{{1, 0}, {2, 4}, {1, 2}}, after: stateproto.NewLoader(537413182, 5, 3)},
		{n: 10, args: op.Args{"num_shards": 3, "shard_id": 1}, rng: "537413182", epoch: 1, age: 5, want: [][]int{{1, 2}, {3, 4}}, after: stateproto.NewLoader(537413182, 3, 2)},
		{n: 10, rng: "77", age: 2, want: [][]int{{2, 3}, {4, 5}, {6, 7}, {8, 9}, {0, 1}}, after: stateproto.NewLoader(77, 1, 2)},
		{n: 10, rng: "x", age: 2, want: [][]int{{2, 3}, {4, 5}, {6, 7}, {8, 9}, {0, 1}}, after: stateproto.Loader{RNG: "0", Epoch: 1, Age: 2}},
	} {
		args := op.Args{"file_root": dirs[c.n]}
		for k, v := range c.args {
			args[k] = v
		}
		r := dynamicReader(t, args, readers.Options{Restore: readers.Restore{Compat: dali.Dynamic{}}})
		if err := r.SetState(textOf(t, stateproto.Reader{Loader: stateproto.Loader{RNG: c.rng, Epoch: c.epoch, Age: c.age}})); err != nil {
			t.Fatal(err)
		}
		got, err := epochsOf(t, r, 2, 1)
		if err != nil || !slices.EqualFunc(got.batches, c.want, slices.Equal[[]int]) ||
			got.states[len(got.states)-1] != textOf(t, stateproto.Reader{Loader: c.after}) {
			t.Errorf("%+v: got %v, %v", c, got, err)
		}
	}
	r := dynamicReader(t, op.Args{"file_root": dirs[7]}, readers.Options{Restore: readers.Restore{Compat: dali.Dynamic{}}})
	if err := r.SetState("AAAA"); err != nil {
		t.Fatal(err)
	}
	if _, err := epochsOf(t, r, 2, 1); err == nil {
		t.Error("a state that is no message went through")
	}
	if got, err := epochsOf(t, r, 2, 1); err != nil || len(got.batches) != 4 ||
		got.batches[0][0] != 0 { // which DALI forgets then
		t.Errorf("after that came %v, %v", got, err)
	}
}

// A state of a far epoch costs no time: its random state is believed, and what it says goes on.
func TestDynamicFarEpoch(t *testing.T) {
	args := op.Args{"file_root": numberedFiles(t, 7), "random_shuffle": true, "initial_fill": 3, "seed": 5}
	far := textOf(t, stateproto.Reader{Loader: stateproto.NewLoader(1649374289, math.MaxInt32-1, 2)})
	r := dynamicReader(t, args, readers.Options{})
	if err := r.SetState(far); err != nil {
		t.Fatal(err)
	}
	got, err := epochsOf(t, r, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	lax := dynamicReader(t, args, readers.Options{Restore: readers.Restore{Compat: dali.Dynamic{}}})
	if err := lax.SetState(far); err != nil {
		t.Fatal(err)
	}
	want, err := epochsOf(t, lax, 1, 1)
	if n := len(got.batches); err != nil || n != 5 ||
		!slices.EqualFunc(got.batches, want.batches[:n], slices.Equal[[]int]) || !slices.Equal(got.states, want.states[:n]) {
		t.Errorf("got %v, as DALI %v, %v", got, want, err)
	}
	late := textOf(t, stateproto.Reader{Loader: stateproto.NewLoader(1649374289, math.MaxInt32-1, 7)})
	q := dynamicReader(t, args, readers.Options{})
	if err := q.SetState(late); err != nil {
		t.Fatal(err)
	}
	if _, err := epochsOf(t, q, 1, 1); !errors.Is(err, errs.Mismatch) {
		t.Error(err)
	}
}

// Bivouac's own readers and DALI's readers do not take each other's states.
func TestDynamicNeedsItsOrder(t *testing.T) {
	r, err := readers.New("readers.file", op.Args{"file_root": numberedFiles(t, 4)},
		readers.Options{Restore: readers.Restore{Compat: dali.Dynamic{}}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.SetState("Cg8KCTUzNzQxMzE4MhAAGAI="); err != nil {
		t.Fatal(err)
	}
	if _, err := epochsOf(t, r, 2, 1); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

// Whatever the text, a reader refuses it or goes on.
func FuzzDynamic(f *testing.F) {
	dir := numberedFiles(f, 5)
	f.Fuzz(func(t *testing.T, text string) {
		for _, o := range []readers.Options{{}, {Restore: readers.Restore{Compat: dali.Dynamic{}}}} {
			r := dynamicReader(t, op.Args{"file_root": dir, "random_shuffle": len(text)%2 == 0}, o)
			if r.SetState(text) != nil {
				continue
			}
			if got, err := epochsOf(t, r, 2, 1); err == nil && len(got.batches) > 3 {
				t.Fatalf("%q: %v", text, got)
			}
		}
	})
}
