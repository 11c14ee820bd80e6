package readers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/bivouac-ml/bivouac/dynamic"
	"github.com/bivouac-ml/bivouac/dynamic/checkpoint"
	"github.com/bivouac-ml/bivouac/dynamic/random"
	"github.com/bivouac-ml/bivouac/dynamic/readers"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/op"
	"github.com/bivouac-ml/bivouac/op/opargs"
	"github.com/bivouac-ml/bivouac/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// tree makes n files, which contain their number, in three classes.
func tree(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	for k := range n {
		name := filepath.Join(dir, fmt.Sprintf("c%d", k*3/n), fmt.Sprintf("f%05d.jpg", k))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strconv.Itoa(k)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newReader returns a reader that is closed at the end of the test.
func newReader(t testing.TB, args opargs.ReadersFile, o readers.Options) *readers.Reader {
	t.Helper()
	r, err := readers.NewFile(args, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() }) //nolint:errcheck // files that were read
	return r
}

// take returns what the next most batches of an epoch hold, and whether it ended.
func take(t testing.TB, r *readers.Reader, batch, most int) (all [][]int, err error) {
	t.Helper()
	for outputs, err := range r.NextEpoch(t.Context(), batch) {
		if err != nil {
			return all, err
		}
		if all = append(all, contents(t, outputs[0])); len(all) == most {
			break
		}
	}
	return all, nil
}

// contents are the numbers in a batch of files.
func contents(t testing.TB, b *dynamic.Batch) (list []int) {
	t.Helper()
	samples, err := b.Samples(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range samples {
		n, err := strconv.Atoi(string(s.Data))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, n)
	}
	return list
}

// epoch returns a whole epoch.
func epoch(t testing.TB, r *readers.Reader, batch int) [][]int {
	t.Helper()
	all, err := take(t, r, batch, -1)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func stateOf(t testing.TB, r *readers.Reader) readers.State {
	t.Helper()
	s, err := r.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// same compares batches.
func same(a, b [][]int) bool { return slices.EqualFunc(a, b, slices.Equal[[]int]) }

// Every sample comes once an epoch, in each of which the order is another.
func TestEpochs(t *testing.T) {
	r := newReader(t, opargs.ReadersFile{FileRoot: tree(t, 10), RandomShuffle: true}, readers.Options{Seed: 4})
	first, second := epoch(t, r, 4), epoch(t, r, 4)
	if same(first, second) {
		t.Errorf("two epochs are %v", first)
	}
	for _, e := range [][][]int{first, second} {
		all := slices.Concat(e...)
		slices.Sort(all)
		if len(e) != 3 || len(e[2]) != 2 || !slices.Equal(all, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
			t.Errorf("an epoch is %v", e)
		}
	}
	m, err := r.Metadata(t.Context())
	if want := (readers.Metadata{EpochSize: 10, EpochSizePadded: 10, NumberOfShards: 1}); m != want || err != nil {
		t.Errorf("%+v, %v", m, err)
	}
}

// Samples yields the samples of the batches, one by one.
func TestSamples(t *testing.T) {
	r := newReader(t, opargs.ReadersFile{FileRoot: tree(t, 5)}, readers.Options{EnableCheckpointing: true})
	n := 0
	for outputs, err := range r.Samples(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		content, err := outputs[0].Tensor(t.Context())
		if err != nil || string(content.Data) != strconv.Itoa(n) {
			t.Errorf("sample %d is %q, %v", n, content.Data, err)
		}
		label, err := outputs[1].Tensor(t.Context())
		if f, _ := label.Float64(0); err != nil || int(f) != n*3/5 {
			t.Errorf("label %d is %v, %v", n, label, err)
		}
		n++
	}
	if n != 5 {
		t.Errorf("%d samples", n)
	}
}

// A break leaves the rest of the epoch for the next loop.
func TestBreak(t *testing.T) {
	r := newReader(t, opargs.ReadersFile{FileRoot: tree(t, 7)}, readers.Options{})
	for range 2 {
		if got, err := take(t, r, 3, 1); err != nil || !same(got, [][]int{{0, 1, 2}}) {
			t.Fatalf("got %v, %v", got, err)
		}
		if got := epoch(t, r, 3); !same(got, [][]int{{3, 4, 5}, {6}}) {
			t.Fatalf("the rest is %v", got)
		}
	}
}

// wants holds an error against a kind.
func wants(t *testing.T, what string, err error, kind errs.Kind) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("%s: got %v, want kind %v", what, err, kind)
	}
}

func TestRulesOfStates(t *testing.T) {
	args := opargs.ReadersFile{FileRoot: tree(t, 7)}
	on := readers.Options{EnableCheckpointing: true}

	r := newReader(t, args, on)
	_, err := r.State()
	wants(t, "a state before the first iteration", err, errs.Sequence)
	epoch(t, r, 2)
	wants(t, "a state after the first iteration", r.SetState(stateOf(t, r)), errs.Sequence)

	r = newReader(t, args, readers.Options{})
	epoch(t, r, 2)
	_, err = r.State()
	wants(t, "a state of a reader without", err, errs.Sequence)
	wants(t, "too late", r.EnableCheckpointing(), errs.Sequence)
	_, err = checkpoint.New().Register(r, "reader")
	wants(t, "registered too late", err, errs.Sequence)

	r = newReader(t, args, readers.Options{})
	c := checkpoint.New()
	if _, err := c.Register(r, "reader"); err != nil {
		t.Fatal(err)
	}
	wants(t, "collected too early", c.Collect(), errs.Sequence)
	epoch(t, r, 2)
	if err := c.Collect(); err != nil {
		t.Error("registered in time:", err)
	}
	if text, _ := c.Serialize(); !strings.Contains(text, `"type": "File"`) {
		t.Error(text)
	}
}

func TestMisuse(t *testing.T) {
	args := opargs.ReadersFile{FileRoot: tree(t, 7)}
	r := newReader(t, args, readers.Options{})
	_, err := take(t, r, 0, 1)
	wants(t, "no batch size", err, errs.Invalid)
	_, err = take(t, r, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	_, err = take(t, r, 3, 1)
	wants(t, "another batch size", err, errs.Invalid)
	for _, err := range r.Samples(t.Context()) {
		wants(t, "samples of a reader of batches", err, errs.Sequence)
	}
	first := true
	for _, err := range r.NextEpoch(t.Context(), 2) {
		if !first {
			wants(t, "an iteration after another has begun", err, errs.Sequence)
		}
		if first {
			epoch(t, r, 2)
		}
		first = false
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, err := range newReader(t, args, readers.Options{}).NextEpoch(ctx, 2) {
		wants(t, "a context that has ended", err, errs.Canceled)
	}
	if err := r.Close(); err != nil || r.Close() != nil {
		t.Error(err)
	}
	_, err = take(t, r, 2, 1)
	wants(t, "closed", err, errs.Closed)
	_, err = readers.New("decoders.image", op.Args{}, readers.Options{})
	wants(t, "no reader", err, errs.Invalid)
	_, err = readers.NewFile(opargs.ReadersFile{FileRoot: "x", ShardId: 3}, readers.Options{})
	wants(t, "no such shard", err, errs.Invalid)
	_, err = take(t, newReader(t, opargs.ReadersFile{FileRoot: filepath.Join(t.TempDir(), "none")}, readers.Options{}), 1,
		1)
	wants(t, "no data", err, errs.NotFound)
}

// An error of a sample keeps the position: the batch comes when the file does.
func TestFailedSample(t *testing.T) {
	dir := tree(t, 6)
	r := newReader(t, opargs.ReadersFile{FileRoot: dir, PrefetchQueueDepth: op.Const(1)},
		readers.Options{EnableCheckpointing: true})
	if _, err := r.Metadata(t.Context()); err != nil {
		t.Fatal(err)
	}
	lost := filepath.Join(dir, "c1", "f00003.jpg")
	if err := os.Rename(lost, lost+".away"); err != nil {
		t.Fatal(err)
	}
	if got, err := take(t, r, 2, -1); !same(got, [][]int{{0, 1}}) || !errors.Is(err, errs.NotFound) ||
		!strings.Contains(err.Error(), "f00003.jpg") {
		t.Fatalf("got %v, %v", got, err)
	}
	if err := os.Rename(lost+".away", lost); err != nil {
		t.Fatal(err)
	}
	if got := epoch(t, r, 2); !same(got, [][]int{{2, 3}, {4, 5}}) {
		t.Errorf("the rest is %v", got)
	}
}

func TestStates(t *testing.T) {
	args := opargs.ReadersFile{FileRoot: tree(t, 7)}
	r := newReader(t, args, readers.Options{EnableCheckpointing: true})
	if _, err := take(t, r, 2, 1); err != nil {
		t.Fatal(err)
	}
	s := stateOf(t, r)
	parsed, err := readers.ParseState("readers.file", s.String())
	if err != nil || parsed != s || !s.Equal(parsed) || !s.Equal(s.String()) || s.Equal(7) || s.Kind() != "readers.file" {
		t.Errorf("%v parsed as %v, %v", s, parsed, err)
	}
	if m := map[readers.State]int{s: 1}; m[parsed] != 1 {
		t.Error("equal states are different keys")
	}
	for _, kind := range []string{"readers.none", "decoders.image"} {
		if _, err := readers.ParseState(kind, ""); err == nil {
			t.Errorf("%s is a reader", kind)
		}
	}
	for name, c := range map[string]struct {
		state any
		kind  errs.Kind
	}{
		"a number":          {5, errs.Mismatch},
		"of a generator":    {random.New(1).State(), errs.Mismatch},
		"another kind":      {readers.State{}, errs.Mismatch},
		"no JSON":           {"!!!", errs.Invalid},
		"truncated":         {s.String()[:len(s.String())-2], errs.Invalid},
		"of another system": {"Cg8KCTUzNzQxMzE4MhAAGAI=", errs.Invalid},
		"of a pipeline":     {strings.Replace(s.String(), `"kind":"reader"`, `"kind":"pipeline"`, 1), errs.Invalid},
	} {
		wants(t, name, newReader(t, args, readers.Options{}).SetState(c.state), c.kind)
	}
	for _, state := range []any{s, s.String(), []byte(s.String())} {
		q := newReader(t, args, readers.Options{})
		if err := q.SetState(state); err != nil {
			t.Fatal(err)
		}
		if got := epoch(t, q, 2); !same(got, [][]int{{2, 3}, {4, 5}, {6}}) {
			t.Errorf("%T: %v", state, got)
		}
	}
}

// The state of a reader of other data, or with another order, is refused by name.
func TestOtherReaders(t *testing.T) {
	dir, other := tree(t, 7), tree(t, 8)
	r := newReader(t, opargs.ReadersFile{FileRoot: dir, RandomShuffle: true},
		readers.Options{EnableCheckpointing: true, Seed: 3})
	epoch(t, r, 2)
	s := stateOf(t, r)
	for name, c := range map[string]struct {
		args opargs.ReadersFile
		seed uint64
		says string
	}{
		"another data set": {opargs.ReadersFile{FileRoot: other, RandomShuffle: true}, 3, "data set"},
		"another seed":     {opargs.ReadersFile{FileRoot: dir, RandomShuffle: true}, 4, "order"},
		"no shuffling":     {opargs.ReadersFile{FileRoot: dir}, 3, "order"},
		"a shard to stick": {opargs.ReadersFile{FileRoot: dir, RandomShuffle: true, StickToShard: true}, 3, "stick_to_shard"},
	} {
		q := newReader(t, c.args, readers.Options{Seed: c.seed})
		if err := q.SetState(s); err != nil {
			t.Fatal(err)
		}
		if _, err := take(t, q, 2, 1); !errors.Is(err, errs.Mismatch) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A document that is well-formed, but of no reader, is told with the first batch.
func TestDamagedStates(t *testing.T) {
	args := opargs.ReadersFile{FileRoot: tree(t, 7)}
	r := newReader(t, args, readers.Options{EnableCheckpointing: true})
	if _, err := take(t, r, 2, 1); err != nil {
		t.Fatal(err)
	}
	const cuts = `"cuts":[{"shards":1,"taken":2}]`
	d, err := state.Unmarshal([]byte(stateOf(t, r).String()))
	if err != nil {
		t.Fatal(err)
	}
	d.Version = 1 // without a checksum, which would refuse all changes alike
	text, err := d.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	good := string(text)
	if !strings.Contains(good, cuts) {
		t.Fatal(good)
	}
	for name, c := range map[string]struct {
		old, changed string
		kind         errs.Kind
	}{
		"no cuts":          {cuts, `"cuts":[]`, errs.Corrupt},
		"no extension":     {`"reader":{` + cuts + `}`, `"other":{}`, errs.Corrupt},
		"cuts of text":     {cuts, `"cuts":"2"`, errs.Corrupt},
		"no shards":        {cuts, `"cuts":[{"shards":0,"taken":2}]`, errs.Corrupt},
		"too many shards":  {cuts, `"cuts":[{"shards":9000000,"taken":2}]`, errs.Corrupt},
		"less than none":   {cuts, `"cuts":[{"shards":1,"taken":-2}]`, errs.Corrupt},
		"too many cuts":    {cuts, `"cuts":[` + strings.Repeat(`{"shards":2,"taken":0},`, 64) + `{"shards":1,"taken":2}]`, errs.Corrupt},
		"more than it has": {cuts, `"cuts":[{"shards":1,"taken":8}]`, errs.Mismatch},
		"too few are left": {cuts, `"cuts":[{"shards":7,"taken":0},{"shards":2,"taken":3},{"shards":3,"taken":0}]`, errs.Mismatch},
		"fewer":            {cuts, `"cuts":[{"shards":1,"taken":1}]`, errs.Corrupt},
		"a later epoch":    {`"extra"`, `"epoch":4294967296,"extra"`, errs.Corrupt},
		"an epoch below 0": {`"extra"`, `"epoch":-1,"extra"`, errs.Corrupt},
	} {
		text, shards := strings.Replace(good, c.old, c.changed, 1), op.Arg[int]{}
		if name == "too few are left" {
			shards = op.Const(5)
		}
		q := newReader(t, opargs.ReadersFile{FileRoot: args.FileRoot, NumShards: shards}, readers.Options{})
		err := q.SetState(text)
		if err == nil {
			_, err = take(t, q, 2, 1)
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%s: %s gives %v, want kind %v", name, text, err, c.kind)
		}
	}
}
