package buckettest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object"
)

// list returns the keys of a list, and fails if it is out of order.
func (k *bench) list(prefix string, delimited bool) []object.Attrs {
	k.t.Helper()
	var out []object.Attrs
	for a, err := range k.List(ctx(), prefix, delimited) {
		if err != nil {
			k.t.Fatal(err)
		}
		if n := len(out); n > 0 && out[n-1].Key >= a.Key {
			k.t.Fatalf("%q comes after %q", a.Key, out[n-1].Key)
		}
		out = append(out, a)
	}
	return out
}

func keysOf(all []object.Attrs) []string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.Key
	}
	return out
}

// fill puts a small object under each key, several at a time.
func (k *bench) fill(keys []string) {
	k.t.Helper()
	const at = 8
	for _, err := range together(at, func(i int) error {
		for j := i; j < len(keys); j += at {
			b := []byte(keys[j])
			if _, err := k.Put(ctx(), keys[j], b, sum(b), object.Condition{}); err != nil {
				return err
			}
		}
		return nil
	}) {
		if err != nil {
			k.t.Fatal(err)
		}
	}
}

func listsAreWholeAndInOrder(t *testing.T, k *bench) {
	dir := k.prefix + "many/"
	var keys, beginnings []string
	for i := range 1100 { // more than a page of common beginnings
		keys = append(keys, fmt.Sprintf("%sd%04d/a", dir, i), fmt.Sprintf("%sd%04d/b/c", dir, i))
		beginnings = append(beginnings, fmt.Sprintf("%sd%04d/", dir, i))
	}
	for i := range 300 {
		keys = append(keys, fmt.Sprintf("%se%03d", dir, i))
		beginnings = append(beginnings, fmt.Sprintf("%se%03d", dir, i))
	}
	k.fill(keys)
	k.put(k.prefix+"beside", []byte("no part of the list"))
	slices.Sort(keys)
	all := k.list(dir, false)
	if got := keysOf(all); !slices.Equal(got, keys) {
		t.Fatalf("the list has %d keys, want %d, all alike", len(got), len(keys))
	}
	head, err := k.Head(ctx(), keys[7])
	if err != nil {
		t.Fatal(err)
	}
	if a := all[7]; a.Prefix || a.Size != head.Size || a.Tag != head.Tag || a.Modified.Unix() != head.Modified.Unix() {
		t.Errorf("the list has %+v, Head has %+v", a, head)
	}
	some := k.list(dir, true)
	if got := keysOf(some); !slices.Equal(got, beginnings) {
		t.Fatalf("the delimited list has %d keys, want %d, all alike", len(got), len(beginnings))
	}
	for _, a := range some {
		if a.Prefix != strings.HasSuffix(a.Key, "/") {
			t.Fatalf("%+v: want Prefix for common beginnings only", a)
		}
	}
	// A prefix need not end with a "/".
	want := []string{dir + "d0012/", dir + "d0012/a", dir + "d0012/b/c"}
	if got := keysOf(k.list(dir+"d0012", true)); !slices.Equal(got, want[:1]) {
		t.Errorf("got %q, want %q", got, want[:1])
	}
	if got := keysOf(k.list(dir+"d0012", false)); !slices.Equal(got, want[1:]) {
		t.Errorf("got %q, want %q", got, want[1:])
	}
	n := 0
	for _, err := range k.List(ctx(), dir, false) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 1001 { // in the second page
			break
		}
	}
	if err := k.DeleteAll(ctx(), keys); err != nil {
		t.Fatal(err)
	}
	if left := k.list(dir, false); len(left) != 0 {
		t.Errorf("%d keys are left", len(left))
	}
}

func orderIsThatOfBytes(t *testing.T, k *bench) {
	keys := []string{"a!x", "a-b", "a-b/c", "a.b", "a/b", "a/c", "a0", "aa", "b", "Z", "é", "～", "𐀀"}
	for i := range keys {
		if k.s.FileKeys && keys[i] == "a-b/c" {
			keys[i] = "a-c/c"
		}
		keys[i] = k.prefix + "order/" + keys[i]
	}
	k.fill(keys)
	slices.Sort(keys)
	if got := keysOf(k.list(k.prefix+"order/", false)); !slices.Equal(got, keys) {
		t.Errorf("got %q, want %q", got, keys)
	}
}

func oddKeysAreKept(t *testing.T, k *bench) {
	var keys []string
	for _, key := range []string{
		"sp ace/ü/%2F:*?+&", "plus+plus", "per%cent%20", "tag<a>&amp;", `quo"te'`, "semi;colon=", "ti~lde", "br(ack)[et]{s}", "hash#tag",
		"back\\slash", "dollar$@!^|`", "nfc-é", "nfd-e\u0301", "日本語/𐀀", " lead", "trail ", "dots...", strings.Repeat("long/", 40) + "end",
	} {
		key = k.prefix + "odd/" + key
		if k.s.NoBackslash && strings.Contains(key, `\`) {
			_, err := k.Put(ctx(), key, nil, 0, object.Condition{})
			k.is(err, errs.Invalid)
			continue
		}
		keys = append(keys, key)
	}
	tags := map[string]string{}
	for _, key := range keys {
		tags[key] = k.put(key, []byte(key))
	}
	for _, key := range keys {
		k.holds(key, []byte(key))
		p := make([]byte, 2)
		if err := k.Get(ctx(), key, 1, tags[key], p); err != nil || string(p) != key[1:3] {
			t.Errorf("%q: %q, %v", key, p, err)
		}
		if got := keysOf(k.list(key, false)); !slices.Equal(got, []string{key}) {
			t.Errorf("the list of %q has %q", key, got)
		}
	}
	slices.Sort(keys)
	if got := keysOf(k.list(k.prefix+"odd/", false)); !slices.Equal(got, keys) {
		t.Errorf("got  %q\nwant %q", got, keys)
	}
	whole := []byte("by parts")
	u, err := k.Begin(ctx(), keys[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := u.Part(ctx(), 1, whole, sum(whole)); err != nil {
		t.Fatal(err)
	}
	open := 0
	for f, err := range k.Uploads(ctx(), keys[0]) {
		if err != nil || f.Key != keys[0] {
			t.Errorf("unfinished %q, %v, want %q", f.Key, err, keys[0])
		}
		open++
	}
	if open != 1 {
		t.Errorf("%d unfinished uploads, want 1", open)
	}
	if _, err := u.Complete(ctx(), 1, sum(whole), object.Condition{Tag: tags[keys[0]]}); err != nil {
		t.Fatal(err)
	}
	k.holds(keys[0], whole)
	if err := k.Delete(ctx(), keys[0], object.Condition{}); err != nil {
		t.Error(err)
	}
	if err := k.DeleteAll(ctx(), keys[1:]); err != nil {
		t.Error(err)
	}
	if left := keysOf(k.list(k.prefix+"odd/", false)); len(left) != 0 {
		t.Errorf("%q are left", left)
	}
}

func deleteAllRemovesAll(t *testing.T, k *bench) {
	var keys []string
	for i := range 30 {
		keys = append(keys, fmt.Sprintf("%sall/%02d", k.prefix, i))
	}
	k.fill(keys)
	k.put(k.prefix+"all-but-this", []byte("x"))
	if err := k.DeleteAll(ctx(), append(slices.Clone(keys), k.prefix+"all/not-there")); err != nil {
		t.Fatal(err)
	}
	if got := keysOf(k.list(k.prefix, false)); !slices.Equal(got, []string{k.prefix + "all-but-this"}) {
		t.Errorf("%q are left", got)
	}
}

func uploadsAppearAsAWhole(t *testing.T, k *bench) {
	key, part := k.prefix+"parts/whole", int(k.Limits().MinPart)
	u, err := k.Begin(ctx(), key)
	if err != nil {
		t.Fatal(err)
	}
	whole := noise(9, 4*part+17)
	// Parts come in any order, several at once.
	for _, err := range together(5, func(i int) error {
		b := whole[i*part : min((i+1)*part, len(whole))]
		return u.Part(ctx(), i+1, b, sum(b))
	}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	k.missing(key)
	if got := keysOf(k.list(k.prefix, false)); len(got) != 0 {
		t.Errorf("the list has %q before Complete", got)
	}
	tag, err := u.Complete(ctx(), 5, sum(whole), object.Condition{Absent: true})
	if err != nil {
		t.Fatal(err)
	}
	if a := k.holds(key, whole); a.Tag != tag || a.Size != int64(len(whole)) {
		t.Errorf("%+v, want tag %s, size %d", a, tag, len(whole))
	}
	p := make([]byte, part+2) // over an edge of parts
	if err := k.Get(ctx(), key, int64(part-1), tag, p); err != nil || string(p) != string(whole[part-1:2*part+1]) {
		t.Errorf("the bytes over an edge of parts: %v", err)
	}
}

func partsAreReplaced(t *testing.T, k *bench) {
	key := k.prefix + "parts/replaced"
	u, whole := k.begun(key, 70)
	last := noise(99, 33)
	if err := u.Part(ctx(), 2, last, sum(last)); err != nil {
		t.Fatal(err)
	}
	whole = append(whole[:len(whole)-1000], last...)
	if _, err := u.Complete(ctx(), 2, sum(whole), object.Condition{}); err != nil {
		t.Fatal(err)
	}
	k.holds(key, whole)
}

func uploadsNeedTheirParts(t *testing.T, k *bench) {
	u, err := k.Begin(ctx(), k.prefix+"parts/gap")
	if err != nil {
		t.Fatal(err)
	}
	b := []byte("the second")
	if err := u.Part(ctx(), 2, b, sum(b)); err != nil {
		t.Fatal(err)
	}
	_, err = u.Complete(ctx(), 2, sum(b), object.Condition{})
	k.is(err, errs.Sequence)
	_, err = u.Complete(ctx(), 0, 0, object.Condition{})
	k.is(err, errs.Invalid)
	k.is(u.Part(ctx(), 0, b, sum(b)), errs.Invalid)
	k.is(u.Part(ctx(), k.Limits().MaxParts+1, b, sum(b)), errs.Invalid)
	if err := u.Abort(ctx()); err != nil {
		t.Error(err)
	}
	k.missing(k.prefix + "parts/gap")
}

func unfinishedUploadsAreFound(t *testing.T, k *bench) {
	key := k.prefix + "open/one"
	one, whole := k.begun(key, 80)
	two, _ := k.begun(key, 90)
	done, all := k.begun(k.prefix+"open/done", 80)
	if _, err := done.Complete(ctx(), 2, sum(all), object.Condition{}); err != nil {
		t.Fatal(err)
	}
	if err := done.Abort(ctx()); err != nil {
		t.Errorf("Abort after Complete: %v", err)
	}
	k.holds(k.prefix+"open/done", all)
	elsewhere, _ := k.begun(k.prefix+"elsewhere", 80)
	count := func() (n int) {
		for f, err := range k.Uploads(ctx(), k.prefix+"open/") {
			if err != nil {
				t.Fatal(err)
			}
			if f.Key != key || f.Started.IsZero() || f.Abort == nil {
				t.Errorf("%+v, want the key %s and the time of its beginning", f, key)
			}
			n++
		}
		return n
	}
	if n := count(); n != 2 {
		t.Fatalf("%d unfinished uploads, want 2", n)
	}
	if err := two.Abort(ctx()); err != nil {
		t.Fatal(err)
	}
	if err := two.Abort(ctx()); err != nil {
		t.Errorf("the second Abort: %v", err)
	}
	if n := count(); n != 1 {
		t.Fatalf("%d unfinished uploads after an Abort, want 1", n)
	}
	for f, err := range k.Uploads(ctx(), k.prefix+"open/") {
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Abort(ctx()); err != nil {
			t.Fatal(err)
		}
	}
	if n := count(); n != 0 {
		t.Fatalf("%d unfinished uploads after their Abort, want 0", n)
	}
	_, err := one.Complete(ctx(), 2, sum(whole), object.Condition{})
	k.is(err, errs.NotFound)
	k.missing(key)
	if err := elsewhere.Abort(ctx()); err != nil {
		t.Error(err)
	}
}
